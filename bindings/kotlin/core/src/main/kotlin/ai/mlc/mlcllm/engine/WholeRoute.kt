package ai.mlc.mlcllm

import java.util.concurrent.CompletableFuture
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.future.future
import kotlinx.serialization.KSerializer

/** A route of the engine that gives one answer and is never streamed. See [Route] for failures. */
abstract class WholeRoute<Q : Any, A : Any> internal constructor(
    private val requests: Requests,
    private val route: String,
    private val request: KSerializer<Q>,
    private val answer: KSerializer<A>,
) {
    /** Sends a request and waits for the answer. */
    suspend fun create(request: Q): A =
        decode(answer, requests.result(route, encode(this.request, request)))

    /** [create] for Java. Cancelling the future ends the request. */
    fun createAsync(request: Q): CompletableFuture<A> =
        CoroutineScope(Dispatchers.Default).future { create(request) }
}
