import Foundation

/// Who publishes the app. Set both before you submit it (docs/app-stores.md): until then the app
/// shows neither the button for a report nor the link.
enum Publisher {
    /// Gets the reports about answers.
    static let reports: String? = nil
    static let privacyPolicy: URL? = nil
}
