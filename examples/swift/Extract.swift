// Data out of a text: what comes on standard input becomes a value of the type `Invoice`.
//
// Extract MODEL_FOLDER MODEL_LIBRARY < invoice.txt
import MLCSwift

enum Currency: String, CaseIterable, Decodable { case eur = "EUR", usd = "USD", other }

struct Item: Decodable {
    let name: String
    let count: Int
}

struct Invoice: Decodable {
    let sender: String
    let currency: Currency
    let total: Double
    let items: [Item]
}

let engine = MLCEngine()
try await engine.load(model: CommandLine.arguments[1], modelLib: CommandLine.arguments[2])
var text = ""
while let line = readLine(strippingNewline: false) { text += line }
let question = ChatCompletionMessage(role: .user, content: "Read this invoice:\n\n\(text)")
let request = ChatCompletionRequest(messages: [question], max_tokens: 1000, temperature: 0)
let invoice = try await engine.chat.completions.complete(Invoice.self, request)
print(invoice.sender, invoice.total, invoice.currency.rawValue)
for item in invoice.items { print("-", item.count, item.name) }
