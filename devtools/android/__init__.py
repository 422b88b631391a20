"""The runtime for Android: `./dev build android`."""
