import ChatKit
import Foundation
import MLCSwift
import Observation
import SwiftUI

/// The parts of the app that its screens share.
struct AppParts {
    let models: ModelCatalog
    let engine: EngineModel
    let chats: ChatLibrary
    let navigation: ChatNavigation
}

/// The app: its parts, or why it cannot start.
@MainActor @Observable
final class AppState {
    enum Content {
        case ready(AppParts)
        case failed(String)
    }

    let content: Content
    private var observers: [any NSObjectProtocol] = []

    private init(_ content: Content) {
        self.content = content
    }

    /// With the models of the app's bundle.
    static func make() -> AppState {
        do {
            let folders = FileManager.default
            let support = try folders.url(
                for: .applicationSupportDirectory, in: .userDomainMask, appropriateFor: nil,
                create: true)
            let caches = try folders.url(
                for: .cachesDirectory, in: .userDomainMask, appropriateFor: nil, create: true)
            try MLCEngine.setDirectories(cache: caches.path)
            let bundle = Bundle.main.bundleURL.appendingPathComponent("bundle")
            let config = try String(
                contentsOf: bundle.appendingPathComponent("mlc-app-config.json"), encoding: .utf8)
            return AppState(
                try parts(config: config, bundle: bundle, storage: support, host: EngineHost()))
        } catch {
            return AppState(.failed("\(error)"))
        }
    }

    /// With the fake model, which needs no weights: it answers with random words.
    static func preview() -> AppState {
        let config = """
            {"model_list": [
              {"model_id": "fake-model", "model_lib": "fake", "model_path": "fake-model"},
              {"model_id": "Far-q4f16_1-MLC", "model_lib": "fake", "model_url": "HF://org/far",
               "estimated_vram_bytes": 900000000},
              {"model_id": "no library", "model_path": "x"}]}
            """
        let storage = FileManager.default.temporaryDirectory.appendingPathComponent("preview")
        do {
            return AppState(
                try parts(
                    config: config, bundle: Bundle.main.bundleURL, storage: storage,
                    host: EngineHost(device: "fake")))
        } catch {
            return AppState(.failed("\(error)"))
        }
    }

    private static func parts(
        config: String, bundle: URL, storage: URL, host: EngineHost
    ) throws -> Content {
        let models = try ModelCatalog(config: config, bundle: bundle, storage: storage)
        let store = ChatStore(folder: storage.appendingPathComponent("chats"))
        let chats = ChatLibrary(store: store, host: host)
        return .ready(
            AppParts(
                models: models, engine: EngineModel(host: host, models: models),
                chats: chats, navigation: ChatNavigation(chats: chats)))
    }

    /// Reads the chats, and listens to what the system says.
    func begin() async {
        guard case .ready(let parts) = content, observers.isEmpty else { return }
        try? await parts.chats.load()
        listen(to: SystemNotices.memoryWarning) { await parts.engine.memoryWarning() }
        listen(to: ProcessInfo.thermalStateDidChangeNotification) {
            await parts.engine.setThermalState(SystemNotices.thermalState)
        }
    }

    /// In the background nothing is generated. A window that is inactive is still seen: a call comes
    /// in, or the user looks at the notifications. The answer goes on.
    func phaseChanged(_ phase: ScenePhase) async {
        guard case .ready(let parts) = content else { return }
        switch phase {
        case .active:
            await parts.models.enterForeground()
            await parts.engine.enterForeground()
        case .background:
            if SystemNotices.suspendsApps { await parts.models.enterBackground() }
            await parts.engine.enterBackground()
        default: break
        }
    }

    #if os(iOS)
        /// The system tells what came while the app was not there.
        func transfersEnded() async {
            guard case .ready(let parts) = content else { return }
            await parts.models.transfers.eventsAreTold()
        }
    #endif

    private func listen(
        to name: Notification.Name?, _ act: @escaping @MainActor @Sendable () async -> Void
    ) {
        guard let name else { return }
        let observer = NotificationCenter.default.addObserver(
            forName: name, object: nil, queue: .main
        ) { _ in
            Task { await act() }
        }
        observers.append(observer)
    }
}
