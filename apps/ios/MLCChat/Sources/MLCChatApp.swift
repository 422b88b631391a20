import ChatKit
import SwiftUI

@main
struct MLCChatApp: App {
    @State private var app = AppState.make()
    @Environment(\.scenePhase) private var phase

    var body: some Scene {
        WindowGroup {
            RootView(app: app)
                .task { await app.begin() }
        }
        .onChange(of: phase) { _, phase in
            Task { await app.phaseChanged(phase) }
        }
        #if os(iOS)
            .backgroundTask(.urlSession(BackgroundTransfers.identifier)) {
                await app.transfersEnded()
            }
        #endif
    }
}

struct RootView: View {
    @Bindable var app: AppState

    var body: some View {
        switch app.content {
        case .failed(let why):
            ContentUnavailableView(
                "The app cannot start", systemImage: "exclamationmark.triangle",
                description: Text(verbatim: why))
        case .ready(let parts):
            TabView {
                ChatsView(parts: parts)
                    .tabItem { Label("Chats", systemImage: "bubble.left.and.bubble.right") }
                ModelsView(parts: parts)
                    .tabItem { Label("Models", systemImage: "cpu") }
                BenchmarkView(parts: parts)
                    .tabItem { Label("Benchmark", systemImage: "gauge.with.needle") }
            }
            .onChange(of: parts.models.isDownloading, initial: true) { _, isDownloading in
                SystemNotices.keepAwake(isDownloading)
            }
        }
    }
}

struct RootPreviews: PreviewProvider {
    static var previews: some View {
        RootView(app: .preview())
    }
}
