package android.text.style

class StyleSpan(val style: Int)

class TypefaceSpan(val family: String)

class URLSpan(val url: String)

class StrikethroughSpan

class BackgroundColorSpan(val colour: Int)
