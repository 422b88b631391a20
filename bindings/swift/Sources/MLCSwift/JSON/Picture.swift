import Foundation

#if canImport(CoreGraphics) && canImport(ImageIO)
    import CoreGraphics
    import ImageIO
#endif
#if canImport(UIKit)
    import UIKit
#elseif canImport(AppKit)
    import AppKit
#endif

extension ChatCompletionContentPart {
    /// A picture within a message: the bytes of its file.
    ///
    ///     let parts: [ChatCompletionContentPart] = [
    ///         .picture(photo), .text(ChatCompletionContentPartText(text: "What is this?")),
    ///     ]
    ///     let message = ChatCompletionMessage(role: .user, content: .parts(parts))
    public static func picture(_ bytes: Data, detail: ImageDetail? = nil) -> Self {
        .imageUrl(
            ChatCompletionContentPartImage(image_url: .image(ImageURL(url: bytes, detail: detail))))
    }

    /// The same of a file, which is read at once.
    public static func picture(contentsOf file: URL, detail: ImageDetail? = nil) throws -> Self {
        .picture(try Data(contentsOf: file), detail: detail)
    }
}

#if canImport(CoreGraphics) && canImport(ImageIO)
    extension ChatCompletionContentPart {
        /// The same of an image, as PNG. Nil where the system cannot write it.
        public static func picture(_ image: CGImage, detail: ImageDetail? = nil) -> Self? {
            let file = NSMutableData()
            let kind = "public.png" as CFString
            guard let target = CGImageDestinationCreateWithData(file, kind, 1, nil) else {
                return nil
            }
            CGImageDestinationAddImage(target, image, nil)
            return CGImageDestinationFinalize(target) ? .picture(file as Data, detail: detail) : nil
        }
    }
#endif

#if canImport(UIKit)
    extension ChatCompletionContentPart {
        /// The same of an image, as PNG, turned as it is shown. Nil where the system cannot write it.
        public static func picture(_ image: UIImage, detail: ImageDetail? = nil) -> Self? {
            upright(image).pngData().map { .picture($0, detail: detail) }
        }

        /// A PNG file of a turned photo would lie on its side.
        private static func upright(_ image: UIImage) -> UIImage {
            if image.imageOrientation == .up { return image }
            UIGraphicsBeginImageContextWithOptions(image.size, false, image.scale)
            defer { UIGraphicsEndImageContext() }
            image.draw(at: .zero)
            return UIGraphicsGetImageFromCurrentImageContext() ?? image
        }
    }
#elseif canImport(AppKit)
    extension ChatCompletionContentPart {
        /// The same of an image, as PNG. Nil where the system cannot write it.
        public static func picture(_ image: NSImage, detail: ImageDetail? = nil) -> Self? {
            image.cgImage(forProposedRect: nil, context: nil, hints: nil)
                .flatMap { .picture($0, detail: detail) }
        }
    }
#endif
