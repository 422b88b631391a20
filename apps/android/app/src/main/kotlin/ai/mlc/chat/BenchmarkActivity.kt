package ai.mlc.chat

import ai.mlc.chat.app.R
import ai.mlc.chatkit.engine.Benchmark
import ai.mlc.chatkit.engine.LoadedModel
import ai.mlc.chatkit.engine.recipeFor
import ai.mlc.mlcllm.MLCException
import android.view.View
import android.widget.Button
import android.widget.TextView

/** Measures the loaded model, and shows a structured answer of it. */
class BenchmarkActivity : Screen() {
    private lateinit var result: TextView
    private lateinit var buttons: List<Button>

    override fun build() {
        val box = column()
        buttons = listOf(
            button(R.string.run_benchmark, isMain = true) { measure() },
            button(R.string.structured_demo) { demonstrate() },
            button(R.string.copy) { copy(result.text.toString()) },
        )
        buttons.forEach { box.addView(it, WIDE) }
        result = text("").apply {
            setTextIsSelectable(true)
            accessibilityLiveRegion = View.ACCESSIBILITY_LIVE_REGION_POLITE
        }
        box.addView(result, WIDE)
        setContentView(box)
        if (app.loadedModel() == null) result.setText(R.string.no_model)
    }

    private fun measure() = work { model ->
        Benchmark(model.engine, model.id, model.device).run().text
    }

    private fun demonstrate() = work { model ->
        val recipe = recipeFor(model.engine, "pancakes")
        getString(R.string.structured_result, recipe.name, recipe.minutes, recipe.ingredients.joinToString())
    }

    private fun work(act: suspend (LoadedModel) -> String) {
        val model = app.loadedModel() ?: return result.setText(R.string.no_model)
        result.setText(R.string.running)
        buttons.forEach { it.isEnabled = false }
        launch {
            result.text = try {
                act(model)
            } catch (error: MLCException) {
                error.message
            }
            buttons.forEach { it.isEnabled = true }
        }
    }
}
