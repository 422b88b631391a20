package ai.mlc.mlcllm

import kotlin.io.encoding.Base64
import kotlin.io.encoding.ExperimentalEncodingApi

/** The URL that holds a picture's file; the core finds out by itself what kind of picture it is. */
@OptIn(ExperimentalEncodingApi::class)
internal fun dataUrl(bytes: ByteArray): String = "data:;base64," + Base64.encode(bytes)
