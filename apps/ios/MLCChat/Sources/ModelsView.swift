import ChatKit
import SwiftUI

/// The list of models: download, load, delete.
struct ModelsView: View {
    let parts: AppParts
    @State private var address = ""
    @State private var library = ""
    @State private var failure: String?
    @State private var importsFolder = false
    @State private var asksToClear = false

    var body: some View {
        NavigationStack {
            List {
                StatusSection(engine: parts.engine)
                Section("Models") {
                    ForEach(parts.models.rows) { row in
                        ModelRow(row: row, parts: parts)
                    }
                    ForEach(parts.models.bad, id: \.self) { entry in
                        Label {
                            Text(verbatim: entry.fault.description)
                        } icon: {
                            Image(systemName: "exclamationmark.triangle")
                        }
                        .foregroundStyle(.red)
                    }
                }
                addSection
                Section {
                    Button("Remove all models", role: .destructive) { asksToClear = true }
                }
                if let policy = Publisher.privacyPolicy {
                    Section { Link("Privacy policy", destination: policy) }
                }
                Section("Licences") {
                    ForEach(Licences.lines, id: \.self) { line in
                        Text(verbatim: line).foregroundStyle(.secondary)
                    }
                }
            }
            .navigationTitle(Text("Models"))
            .alert(Text("That did not work"), isPresented: .constant(failure != nil)) {
                Button("OK") { failure = nil }
            } message: {
                Text(verbatim: failure ?? "")
            }
            .alert(Text("Remove all models"), isPresented: $asksToClear) {
                Button("Delete", role: .destructive) { clear() }
                Button("Cancel", role: .cancel) {}
            } message: {
                Text("Remove all downloaded models? Chats stay.")
            }
            .fileImporter(isPresented: $importsFolder, allowedContentTypes: [.folder]) { result in
                Task { await add(result) }
            }
        }
    }

    private var addSection: some View {
        Section("Add a model") {
            TextField("owner/repository", text: $address).autocorrectionDisabled()
            Picker("Library", selection: $library) {
                ForEach(parts.models.libraries, id: \.self) { Text(verbatim: $0).tag($0) }
            }
            Button("Add the repository") { add() }.disabled(address.isEmpty || library.isEmpty)
            Button("Add a folder of this device") { importsFolder = true }
                .disabled(library.isEmpty)
        }
        .onAppear { library = parts.models.libraries.first ?? "" }
    }

    private func clear() {
        Task {
            do {
                try await parts.engine.clear()
            } catch {
                failure = "\(error)"
            }
        }
    }

    private func add() {
        do {
            try parts.models.add(address, modelLib: library)
            address = ""
        } catch {
            failure = "\(error)"
        }
    }

    private func add(_ result: Result<URL, any Error>) async {
        do {
            let folder = try result.get()
            let isOpen = folder.startAccessingSecurityScopedResource()
            defer { if isOpen { folder.stopAccessingSecurityScopedResource() } }
            try await parts.models.add(folder: folder, modelLib: library)
        } catch {
            failure = "\(error)"
        }
    }
}

/// A model, the state of its download, and what can be done with it.
struct ModelRow: View {
    let row: ModelCatalog.Row
    let parts: AppParts
    @State private var asksToDelete = false
    @State private var leavesTheList = false

    var body: some View {
        VStack(alignment: .leading, spacing: 6) {
            Text(verbatim: row.id).font(.headline)
            Text(verbatim: DownloadWords.line(row.download))
                .font(.caption)
                .foregroundStyle(row.download.state == .failed ? .red : .secondary)
            if row.download.state == .absent,
                case .warn(let needs, let has) = parts.models.estimate(row.id)
            {
                Text("\(row.id) needs \(Bytes.text(needs)), this device has \(Bytes.text(has)).")
                    .font(.caption)
            }
            if row.download.state.isActive {
                ProgressView(value: row.download.fraction)
                    .accessibilityLabel(Text("Download of \(row.id)"))
            }
            // At large sizes of text the buttons do not fit beside each other.
            ViewThatFits(in: .horizontal) {
                HStack { buttons }
                VStack(alignment: .leading) { buttons }
            }
            .buttonStyle(.bordered)
        }
        .accessibilityElement(children: .contain)
        .alert(Text("Delete \(row.id)?"), isPresented: $asksToDelete) {
            Button("Delete", role: .destructive) { Task { await delete() } }
            Button("Cancel", role: .cancel) {}
        } message: {
            Text("To use it again, it must be downloaded again.")
        }
    }

    private func ask(leaving: Bool) {
        leavesTheList = leaving
        asksToDelete = true
    }

    private func delete() async {
        await parts.engine.delete(row.id)
        if leavesTheList { try? await parts.models.remove(row.id) }
    }

    @ViewBuilder private var buttons: some View {
        switch row.download.state {
        case .absent, .paused, .failed:
            Button("Download") { Task { await parts.models.start(row.id) } }
        case .listing, .queued, .downloading, .verifying:
            Button("Pause") { Task { await parts.models.pause(row.id) } }
        case .waiting:
            Button("Try now") { Task { await parts.models.start(row.id) } }
            Button("Pause") { Task { await parts.models.pause(row.id) } }
        case .ready:
            Button("Load") { Task { await parts.engine.load(row.id) } }
        case .deleting:
            ProgressView()
        }
        if !row.isBundled, row.download.state != .absent, row.download.state != .deleting {
            Button("Delete", role: .destructive) { ask(leaving: false) }
        }
        if row.isAdded {
            Button("Remove from the list", role: .destructive) { ask(leaving: true) }
        }
    }
}

/// The loaded model, or why there is none.
struct StatusSection: View {
    let engine: EngineModel

    var body: some View {
        Section("Engine") {
            switch engine.status {
            case .none: Text("No model is loaded.")
            case .loading(let id, let fraction, _):
                ProgressView(value: fraction) { Text("Loading \(id) …") }
            case .loaded(let loaded):
                Text(
                    "\(loaded.modelID) is loaded, with a context of \(loaded.contextTokens) tokens."
                )
                Button("Unload") { Task { await engine.unload() } }
            case .offered(let id, let context, let needs, let has):
                Text("\(id) needs \(Bytes.text(needs)), this device has \(Bytes.text(has)).")
                Button("Load with a context of \(context) tokens") {
                    Task { await engine.load(id, context: context) }
                }
            case .refused(let id, let needs, let has):
                Text("\(id) needs \(Bytes.text(needs)), this device has \(Bytes.text(has)).")
            case .failed(let id, let why): Text(verbatim: "\(id): \(why)").foregroundStyle(.red)
            case .unloadedForMemory(let id):
                Text("\(id) was unloaded because memory was short.")
                Button("Load") { Task { await engine.load(id) } }
            }
        }
    }
}

struct ModelsPreviews: PreviewProvider {
    static var previews: some View {
        if case .ready(let parts) = AppState.preview().content { ModelsView(parts: parts) }
    }
}
