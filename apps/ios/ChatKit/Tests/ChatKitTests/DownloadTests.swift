import Foundation
import Testing

@testable import ChatKit

private let shards = (0..<5).map { "params_shard_\($0).bin" }

@Suite(.enabled(if: Hub.address != nil, "CHATKIT_HUB names no hub"))
struct DownloadTests {
    @Test func aModelComesAndIsChecked() async throws {
        let download = try Download("plain")
        let (states, last) = await download.run()
        #expect(states == [.absent, .listing, .queued, .downloading, .verifying, .ready])
        #expect(download.isWhole)
        #expect(last.doneBytes == last.totalBytes)
        let asked = try await Hub.log(download.entry)
        #expect(Set(asked.map(\.path)).count == asked.count, "a file was fetched twice")
        #expect(asked.allSatisfy { $0.range == nil })
    }

    @Test(arguments: ["cut", "stall"])
    func aLostConnectionContinuesWhereItEnded(mood: String) async throws {
        let download = try Download(mood, stallSeconds: mood == "stall" ? 2 : 30)
        let (states, _) = await download.run()
        #expect(states.contains(.waiting) && states.last == .ready)
        #expect(download.isWhole)
        let asked = try await Hub.log(download.entry)
        let continued = shards.count { shard in
            let ranges = asked.filter { $0.path == shard }.map(\.range)
            return ranges.first == .some(nil) && ranges.last??.hasPrefix("bytes=3") == true
        }
        // On a busy machine a shard may stall before its first byte comes.
        #expect(continued == shards.count || (mood == "stall" && continued > 0))
    }

    @Test(arguments: ["norange", "wrongpart"])
    func aHubWithoutRangesSendsTheFileAgain(mood: String) async throws {
        let download = try Download(mood)
        let (states, _) = await download.run()
        #expect(states.contains(.waiting) && states.last == .ready)
        #expect(download.isWhole)
    }

    /// The system's part is played by a session of this process; Linux has no background sessions.
    @Test @MainActor func theSystemGoesOnWhileTheAppIsSuspended() async throws {
        let folder = try TemporaryFolder()
        let entry = try Hub.entry("slow")
        let config = """
            {"model_list": [{"model_id": "\(entry.modelID)", "model_lib": "lib",
              "model_url": "\(try #require(entry.url))"}]}
            """
        let models = folder.url.appendingPathComponent("models")
        let transfers = BackgroundTransfers(models: models, configuration: .ephemeral)
        let catalog = try ModelCatalog(
            config: config, bundle: folder.url, storage: folder.url, transfers: transfers)
        let place = ModelFolder(models.appendingPathComponent(entry.modelID))
        await catalog.start(entry.modelID)
        while (place.size(place.partial(shards[0])) ?? 0) < 8192 {
            try await Task.sleep(for: .milliseconds(5))
        }
        await catalog.enterBackground()
        await transfers.finished()
        for (at, shard) in shards.enumerated() {
            let whole = place.size(place.place(shard)) ?? place.size(place.partial(shard))
            #expect(whole == Hub.shardBytes[at])
        }
        let ranges = try await Hub.log(entry).filter { $0.path == shards[0] }.map(\.range)
        #expect(ranges.count == 2 && ranges.last??.hasPrefix("bytes=") == true)

        // Another process of the app finds what was given to the system, and asks for no shard again.
        // A file of unknown size that was underway must be asked for: nobody knows that it is whole.
        let asked = try await Hub.log(entry).count { shards.contains($0.path) }
        let later = try ModelCatalog(
            config: config, bundle: folder.url, storage: folder.url,
            transfers: BackgroundTransfers(models: models, configuration: .ephemeral))
        await later.enterForeground()
        while later.row(entry.modelID)?.download.state != .ready {
            try await Task.sleep(for: .milliseconds(5))
        }
        #expect(try await Hub.log(entry).count { shards.contains($0.path) } == asked)
        await later.enterForeground()
        #expect(later.row(entry.modelID)?.download.state == .ready)
    }

    @Test func aDownloadGoesOnAfterTheAppWasKilled() async throws {
        let download = try Download("slow")
        let first = Task { await download.run(to: [.paused]) }
        while (download.size(shards[0] + ".partial") ?? 0) < 8192 {
            try await Task.sleep(for: .milliseconds(5))
        }
        await download.model.pause()
        #expect(await first.value.states.last == .paused)
        let part = try #require(download.size(shards[0] + ".partial"))

        let later = download.relaunched()
        #expect(await later.current.state == .paused)
        #expect(await later.current.doneBytes >= part)
        let (states, last) = await Download.run(later)
        #expect(states == [.paused, .listing, .queued, .downloading, .verifying, .ready])
        #expect(last.doneBytes == last.totalBytes && download.isWhole)
        let ranges = try await Hub.log(download.entry).filter { $0.path == shards[0] }.map(\.range)
        #expect(ranges == [nil, "bytes=\(part)-"])
        #expect(await download.relaunched().current.state == .ready)
    }

    @Test func aBusyHubIsAskedAgain() async throws {
        let download = try Download("busy")
        let (states, _) = await download.run()
        #expect(states.contains(.waiting) && states.last == .ready && download.isWhole)
    }

    @Test func aCorruptShardAloneIsFetchedAgain() async throws {
        let download = try Download("corrupt")
        let (states, _) = await download.run()
        let end: [DownloadState] = [.verifying, .downloading, .verifying, .ready]
        #expect(states.suffix(4) == end[...] && download.isWhole)
        let asked = try await Hub.log(download.entry).map(\.path)
        #expect(shards.map { shard in asked.count { $0 == shard } } == [2, 1, 1, 1, 1])
    }

    @Test(arguments: [
        ("liar", StopReason.hash, "params_shard_0.bin"), ("short", .size, "params_shard_"),
        ("long", .size, "params_shard_"), ("down", .busy, "mlc-chat-config.json"),
        ("dead", .cut, "params_shard_"), ("never", .cut, "params_shard_"),
        ("gone", .missing, "params_shard_0.bin"),
        ("noindex", .model, "tensor-cache.json"), ("escape", .model, "records[0].dataPath"),
    ])
    func whatCannotWorkEndsWithAReason(
        mood: String, reason: StopReason, detail: String
    ) async throws {
        let download = try Download(mood)
        let (states, last) = await download.run()
        #expect(states.last == .failed)
        #expect(last.reason == reason, "\(last)")
        #expect(last.detail?.contains(detail) == true, "\(last)")
        #expect(!ModelFolder(download.path).isReady)
        let outside = download.folder.url.appendingPathComponent("outside.bin")
        #expect(!FileManager.default.fileExists(atPath: outside.path))
    }

    @Test func anOlderIndexAndAMovedFileAreFound() async throws {
        for mood in ["old", "moved"] {
            let download = try Download(mood)
            #expect(await download.run().states.last == .ready)
            #expect(download.isWhole)
        }
    }

    @Test func tooLittleSpaceIsSaidBeforeTheShardsCome() async throws {
        let download = try Download("plain", freeBytes: 1000)
        let last = await download.run().last
        #expect(last.state == .failed && last.reason == .diskFull)
        #expect(last.detail == "327 KB are needed, 1 KB free")
        #expect(try await !Hub.log(download.entry).contains { shards.contains($0.path) })
    }

    /// `/dev/full` refuses every byte as a full disk does.
    @Test func aDiskThatBecomesFullEndsTheDownload() async throws {
        let download = try Download("plain")
        try FileManager.default.createDirectory(
            at: download.path, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: download.path.path + "/\(shards[1]).partial", withDestinationPath: "/dev/full")
        let last = await download.run().last
        #expect(last.state == .failed && last.reason == .diskFull && last.detail == shards[1])
    }

    @Test func noMoreThanThreeFilesComeAtATime() async throws {
        let slots = TransferSlots()
        let highest = Locked((now: 0, most: 0))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<12 {
                group.addTask {
                    try await slots.run {
                        highest.with { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
                        await Task.yield()
                        highest.with { $0.now -= 1 }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect((1...3).contains(highest.with { $0.most }))
    }

    @Test func aTaskThatIsCancelledLeavesTheQueue() async throws {
        let slots = TransferSlots(0)
        let waiting = Task { try await slots.run { 1 } }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }

    @Test func aModelIsDeletedWhileItComes() async throws {
        let download = try Download("slow")
        let run = Task { await download.run(to: [.absent]) }
        while download.size(shards[0] + ".partial") == nil {
            try await Task.sleep(for: .milliseconds(5))
        }
        await download.model.delete()
        #expect(await run.value.states.suffix(2) == [.deleting, .absent])
        #expect(!FileManager.default.fileExists(atPath: download.path.path))
        #expect(try FileManager.default.contentsOfDirectory(atPath: download.folder.url.path) == [])
        let (states, _) = await download.run(to: [.downloading])
        #expect(states == [.absent, .listing, .queued, .downloading])
        await download.model.pause()
    }

    @Test func aModelThatComesAgainIsCheckedAgain() async throws {
        let download = try Download("plain")
        _ = await download.run()
        await download.model.delete()
        try FileManager.default.createDirectory(
            at: download.path, withIntermediateDirectories: true)
        try Data(count: Hub.shardBytes[2]).write(
            to: download.path.appendingPathComponent(shards[2]))
        let (states, _) = await download.run()
        #expect(states.last == .ready && download.isWhole)
        let asked = try await Hub.log(download.entry).map(\.path)
        #expect(asked.count { $0 == shards[2] } == 2)
    }

    /// `start` comes while `pause` waits for the end of the transfers.
    @Test func aDownloadThatGoesOnAtOnceCanBePausedAgain() async throws {
        let download = try Download("slow")
        await download.model.start()
        while download.size(shards[0] + ".partial") == nil {
            try await Task.sleep(for: .milliseconds(5))
        }
        async let paused: Void = download.model.pause()
        while await download.model.current.state != .paused { await Task.yield() }
        await download.model.start()
        await paused
        await download.model.pause()
        let sizes = shards.map { download.size($0 + ".partial") }
        try await Task.sleep(for: .milliseconds(200))  // the hub sends 4 KB every 20 ms
        #expect(shards.map { download.size($0 + ".partial") } == sizes)
    }

    @Test func aHubThatCutsForEverIsNotAskedForEver() async throws {
        let download = try Download("never")
        _ = await download.run()
        let asked = try await Hub.log(download.entry).map(\.path)
        #expect(shards.allSatisfy { shard in asked.count { $0 == shard } <= 8 }, "\(asked)")
    }

    @Test func aReadyModelThatLostAFileIsFoundDamaged() async throws {
        let download = try Download("plain")
        _ = await download.run()
        try Data(count: 7).write(to: download.path.appendingPathComponent(shards[3]))
        let later = download.relaunched()
        let found = await later.current
        #expect(found.state == .failed && found.reason == .damaged && found.detail == shards[3])
        #expect(await Download.run(later).states.last == .ready)
        #expect(download.isWhole)
    }

    /// The index knows the sizes of weights alone.
    @Test(arguments: ["tokenizer.json", "mlc-chat-config.json"])
    func aFileOfUnknownSizeThatIsDamagedIsFetchedAgain(path: String) async throws {
        let download = try Download("plain")
        _ = await download.run()
        let place = download.path.appendingPathComponent(path)
        let whole = try Data(contentsOf: place)
        try Data("{".utf8).write(to: place)
        let later = download.relaunched()
        #expect(await later.current.detail == path)
        #expect(await Download.run(later).states.last == .ready)
        #expect(try Data(contentsOf: place) == whole)
    }

    @Test func aMarkThatNamesAFileElsewhereIsNone() async throws {
        let download = try Download("plain")
        let outside = download.path.deletingLastPathComponent().appendingPathComponent("outside")
        try FileManager.default.createDirectory(
            at: download.path, withIntermediateDirectories: true)
        try Data("mine".utf8).write(to: outside)
        let mark = #"{"files": [{"path": "../outside", "bytes": 1}]}"#
        try Data(mark.utf8).write(to: download.path.appendingPathComponent(".chatkit.json"))
        #expect(await Download.run(download.relaunched()).states.last == .ready)
        #expect(try Data(contentsOf: outside) == Data("mine".utf8))
    }

    @Test func aModelThatTheEngineFindsDamagedIsFetchedAgain() async throws {
        let download = try Download("plain")
        _ = await download.run()
        try Data(count: Hub.shardBytes[2]).write(
            to: download.path.appendingPathComponent(shards[2]))
        try Data("[]".utf8).write(to: download.path.appendingPathComponent("tokenizer.json"))
        await download.model.reportCorrupt("params_shard_2.bin")
        #expect(await download.model.current.reason == .damaged)
        let (states, _) = await download.run()
        #expect(states.first == .failed && states.last == .ready)
        let asked = try await Hub.log(download.entry).map(\.path)
        #expect(asked.count { $0 == shards[2] } == 2 && asked.count { $0 == shards[1] } == 1)
        #expect(asked.count { $0 == "tokenizer.json" } == 2)
    }
}

@Suite struct MD5Tests {
    @Test func theSumsAreThoseOfTheRFC() throws {
        let folder = try TemporaryFolder()
        let sums = [
            "": "d41d8cd98f00b204e9800998ecf8427e", "abc": "900150983cd24fb0d6963f7d28e17f72",
            String(repeating: "1234567890", count: 8): "57edf4a22be3c955ac49da2e2107b67a",
            String(repeating: "a", count: 55): "ef1772b6dff9a122358552954ad0df65",
            String(repeating: "a", count: 56): "3b0c8ac703f828b04c6c197006d17218",
            String(repeating: "a", count: 64): "014842d480b571495a4a0363793f7367",
        ]
        for (text, sum) in sums {
            let file = folder.url.appendingPathComponent("\(text.count)")
            try Data(text.utf8).write(to: file)
            #expect(try MD5.hex(of: file) == sum)
        }
    }
}
