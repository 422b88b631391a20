import Foundation
import Testing

@testable import MLCSwift

private let template =
    "{% for part in messages[-1].content %}{% if part.type == 'image' %}<|endoftext|>"
    + "{% else %}{{ part.text }}{% endif %}{% endfor %}"
// PNG files of one pixel, which is black and white.
private let cat = Data(
    base64Encoded: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklE"
        + "QVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==")!
private let dog = Data(
    base64Encoded: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklE"
        + "QVR4nGP4DwABAQEAsTj2FAAAAABJRU5ErkJggg==")!

/// The fake model with a token for pictures, which makes it see.
private func seeingModel() throws -> URL {
    let folder = FileManager.default.temporaryDirectory
        .appendingPathComponent("seeing-\(UUID().uuidString)")
    try FileManager.default.copyItem(atPath: fakeModel, toPath: folder.path)
    let config = folder.appendingPathComponent("mlc-chat-config.json")
    let text = try String(contentsOf: config, encoding: .utf8)
    try ("{\"image_token_id\": 496," + text.drop { $0 != "{" }.dropFirst())
        .write(to: config, atomically: true, encoding: .utf8)
    try template.write(
        to: folder.appendingPathComponent("chat_template.jinja"), atomically: true, encoding: .utf8)
    return folder
}

private func look(_ picture: ImageURL) -> [ChatCompletionMessage] {
    let image = ChatCompletionContentPartImage(image_url: .image(picture))
    let text = ChatCompletionContentPartText(text: "Hello")
    return [ChatCompletionMessage(role: .user, content: .parts([.text(text), .imageUrl(image)]))]
}

@Test func bytesAreAPictureAsADataURLIs() async throws {
    let folder = try seeingModel()
    defer { try? FileManager.default.removeItem(at: folder) }
    let engine = MLCEngine()
    try await engine.load(model: folder.path, device: "fake")
    func answer(_ picture: ImageURL) async throws -> String? {
        let answer = try await engine.chat.completions.complete(
            messages: look(picture), max_tokens: 20, seed: 1, debug_config: endless)
        return answer.choices[0].message.content
    }
    let seen = try await answer(ImageURL(url: cat))
    let parts: [ChatCompletionContentPart] = [
        .text(ChatCompletionContentPartText(text: "Hello")), .picture(cat),
    ]
    let helped = try await engine.chat.completions.complete(
        messages: [ChatCompletionMessage(role: .user, content: .parts(parts))],
        max_tokens: 20, seed: 1, debug_config: endless)
    #expect(helped.choices[0].message.content == seen)
    let file = folder.appendingPathComponent("cat.png")
    try cat.write(to: file)
    #expect(
        try ChatCompletionContentPart.picture(contentsOf: file, detail: .low).jsonValue
            == ChatCompletionContentPart.picture(cat, detail: .low).jsonValue)
    let url = "data:image/png;base64," + cat.base64EncodedString()
    #expect(try await answer(ImageURL(url: url)) == seen)
    #expect(try await answer(ImageURL(url: dog, detail: .low)) != seen)
    for bytes in [Data(), cat.prefix(40)] {
        let error = await thrown { _ = try await answer(ImageURL(url: Data(bytes))) }
        #expect((error as? MLCError)?.param == "messages[0].content[1]")
    }
}
