import ChatKit
import SwiftUI

/// The speed of the loaded model, and the demo of structured answers.
struct BenchmarkView: View {
    let parts: AppParts
    @State private var isRunning = false
    @State private var failure: String?
    @State private var wish = ""
    @State private var idea: TripIdea?

    var body: some View {
        NavigationStack {
            Form {
                Section("Benchmark") {
                    Text("Prompts of 128 and 512 tokens, an answer of 64 each.")
                    Button("Start") { run { try await parts.engine.runBenchmark() } }
                    if let report = parts.engine.benchmark {
                        Text(verbatim: report.text).monospaced().textSelection(.enabled)
                        Button("Copy") { Clipboard.copy(report.text) }
                    }
                }
                Section("An answer as a value") {
                    TextField("A wish for a trip", text: $wish)
                    Button("Ask") {
                        run { idea = try await parts.engine.host.tripIdea(for: wish) }
                    }
                    .disabled(wish.isEmpty)
                    if let idea { TripView(idea: idea) }
                }
                if let failure { Text(verbatim: failure).foregroundStyle(.red) }
            }
            .disabled(isRunning)
            .overlay { if isRunning { ProgressView() } }
            .navigationTitle(Text("Benchmark"))
        }
    }

    private func run(_ act: @escaping @MainActor () async throws -> Void) {
        isRunning = true
        failure = nil
        Task {
            do {
                try await act()
            } catch {
                failure = "\(error)"
            }
            isRunning = false
        }
    }
}

struct TripView: View {
    let idea: TripIdea

    var body: some View {
        LabeledContent("City") { Text(verbatim: idea.city) }
        LabeledContent("Season") { Text(verbatim: "\(idea.season)") }
        LabeledContent("Days") { Text(verbatim: "\(idea.days)") }
    }
}
