package android.content.pm

object PackageManager {
    const val PERMISSION_GRANTED = 0
}
