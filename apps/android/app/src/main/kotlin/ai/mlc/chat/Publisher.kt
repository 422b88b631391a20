package ai.mlc.chat

/** Who publishes the app. Set it before you submit it (docs/app-stores.md). */
object Publisher {
    /** An https address that takes reports about answers by POST; without it no answer has the choice "report". */
    var reports: String? = null
}
