package android.content.res

import standin.Device

class ColorStateList private constructor() {
    companion object {
        fun valueOf(@Suppress("UNUSED_PARAMETER") colour: Int) = ColorStateList()
    }
}

class Configuration(device: Device) {
    val layoutDirection = if (device.isRightToLeft) 1 else 0
    val screenWidthDp = device.widthDp
}

class Resources(device: Device) {
    class Metrics(val density: Float)

    val displayMetrics = Metrics(device.density)
    val configuration = Configuration(device)
}
