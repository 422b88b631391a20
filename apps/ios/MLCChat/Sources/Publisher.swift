import Foundation

/// Who publishes the app. Set both before you submit it (docs/app-stores.md).
enum Publisher {
    /// Gets the reports about answers.
    static let reports = "reports@example.com"
    static let privacyPolicy = URL(string: "https://example.com/privacy")!
}
