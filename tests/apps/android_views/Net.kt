package android.net

/** The place of a file. */
class Uri(val path: String)

object ConnectivityManager {
    var isActiveNetworkMetered = false
}
