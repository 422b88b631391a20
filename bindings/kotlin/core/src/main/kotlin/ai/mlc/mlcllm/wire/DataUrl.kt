package ai.mlc.mlcllm

import kotlin.io.encoding.Base64
import kotlin.io.encoding.ExperimentalEncodingApi

/** The URL that contains a picture's file. The core detects the kind of picture. */
@OptIn(ExperimentalEncodingApi::class)
internal fun dataUrl(bytes: ByteArray): String = "data:;base64," + Base64.encode(bytes)
