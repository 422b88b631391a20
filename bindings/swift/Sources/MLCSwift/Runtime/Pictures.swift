import Foundation

/// The URL that holds a picture's file; the core finds out by itself what kind of picture it is.
func dataURL(of bytes: Data) -> String {
    "data:;base64," + bytes.base64EncodedString()
}
