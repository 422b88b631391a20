package ai.mlc.mlcllm;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.Test;

/** The binding as Java sees it. */
public class JavaTest {
  private static MLCEngine engine() throws Exception {
    MLCEngine engine = new MLCEngine();
    engine.loadAsync(FakeModel.folder, null, "fake").get(120, TimeUnit.SECONDS);
    return engine;
  }

  private static ChatCompletionRequestBuilder request(String prompt) {
    return new ChatCompletionRequestBuilder(
            List.of(new ChatCompletionMessage(ChatCompletionRole.user, prompt)))
        .seed(5L)
        .max_tokens(8L);
  }

  @Test
  public void streamsAndCompletes() throws Exception {
    try (MLCEngine engine = engine()) {
      StringBuilder text = new StringBuilder();
      ChatCompletionRequest request = request("Hello").build();
      engine.chat().completions()
          .streamAsync(request, chunk -> text.append(chunk.getChoices().get(0).getDelta().getContent()))
          .get(120, TimeUnit.SECONDS);
      ChatCompletion whole =
          engine.chat().completions().completeAsync(request).get(120, TimeUnit.SECONDS);
      assertEquals(whole.getChoices().get(0).getMessage().getContent(), text.toString());
      assertEquals("length", whole.getChoices().get(0).getFinish_reason());
      assertEquals(Long.valueOf(16), engine.metrics().getCompletion_tokens_sum());
    }
  }

  @Test
  public void refusesWithATypedException() throws Exception {
    try (MLCEngine engine = engine()) {
      ChatCompletionRequest wrong = request("Hello").temperature(9.0).build();
      ExecutionException failure = assertThrows(ExecutionException.class,
          () -> engine.chat().completions().completeAsync(wrong).get());
      MLCException error = (InvalidRequestException) failure.getCause();
      assertEquals("temperature", error.getParam());
    }
  }

  @Test
  public void cancellingTheFutureGivesThePagesBack() throws Exception {
    try (MLCEngine engine = engine()) {
      CountDownLatch begun = new CountDownLatch(1);
      CompletableFuture<Void> stream = engine.chat().completions()
          .streamAsync(request("Hello").max_tokens(4000L).build(), chunk -> begun.countDown());
      assertTrue(begun.await(120, TimeUnit.SECONDS));
      stream.cancel(true);
      long end = System.nanoTime() + 120_000_000_000L;
      while (!engine.metrics().getKv_pages_free().equals(engine.metrics().getKv_pages_total())) {
        assertTrue(System.nanoTime() < end);
        Thread.sleep(1);
      }
    }
  }
}
