package ai.mlc.chatkit

import java.net.URI

/** Addresses of repositories with a model. */
object HubAddress {
    const val HUB = "https://huggingface.co"
    private const val PREFIX = "HF://"
    private const val NAME = "[A-Za-z0-9_-][A-Za-z0-9._-]*"
    private val REPOSITORY = Regex("($NAME)/($NAME)")
    private val PAGE = Regex("(https?://[^/\\s]+)/($NAME)/($NAME)(?:/tree/[^\\s]*)?/?")
    private val LOOPBACK = Regex("http://(127\\.0\\.0\\.1|localhost|\\[::1])(:\\d+)?")

    /** The address in a `model_url` of the config; null when it is none. */
    fun ofEntry(text: String): String? =
        if (text.startsWith(PREFIX)) ofRepository(text.removePrefix(PREFIX), HUB) else ofPage(text)

    /** The address and the model's name for what a user types. Throws [FieldException]. */
    fun typed(text: String, hub: String = HUB): Pair<String, String> {
        val words = text.trim()
        val address = ofRepository(words.removePrefix(PREFIX), hub.trimEnd('/')) ?: ofPage(words)
        address ?: throw FieldException(
            "model_url", "must be owner/repository, HF://owner/repository or https://host/owner/repository",
        )
        return address to address.substringAfterLast('/')
    }

    /** The address of a file of the repository. */
    fun file(repository: String, path: String): String =
        "$repository/resolve/main${URI(null, null, "/$path", null).toASCIIString()}"

    private fun ofRepository(text: String, hub: String): String? =
        REPOSITORY.matchEntire(text)?.let { "$hub/${it.groupValues[1]}/${it.groupValues[2].removeSuffix(".git")}" }

    /** Plain HTTP is for hubs on this machine alone. */
    private fun ofPage(text: String): String? {
        val (host, owner, name) = PAGE.matchEntire(text)?.destructured ?: return null
        if (host.startsWith("http://") && !LOOPBACK.matches(host)) return null
        return "$host/$owner/${name.removeSuffix(".git")}"
    }
}
