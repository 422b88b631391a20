import ChatKit
import SwiftUI

/// An answer: its blocks below each other. Code and tables scroll by themselves.
struct MarkdownView: View {
    let text: String

    var body: some View {
        VStack(alignment: .leading, spacing: 8) {
            ForEach(Array(MarkdownBlock.blocks(text).enumerated()), id: \.offset) { _, block in
                BlockView(block: block)
            }
        }
    }
}

private struct BlockView: View {
    let block: MarkdownBlock

    var body: some View {
        switch block.kind {
        case .paragraph: styled
        case .heading: styled.font(block.level == 1 ? .title2 : .headline)
        case .item:
            HStack(alignment: .firstTextBaseline, spacing: 6) {
                Text(verbatim: block.label)
                styled
            }
            .padding(.leading, CGFloat(block.level) * 16)
        case .quote: styled.foregroundStyle(.secondary).padding(.leading, 16)
        case .code:
            ScrollView(.horizontal) {
                Text(verbatim: block.text).monospaced().textSelection(.enabled).padding(10)
            }
            .background(.quaternary, in: RoundedRectangle(cornerRadius: 8))
        case .table:
            ScrollView(.horizontal) { table.padding(10) }
                .background(.quaternary, in: RoundedRectangle(cornerRadius: 8))
        case .rule: Divider()
        }
    }

    private var table: some View {
        Grid(alignment: .leading, horizontalSpacing: 16, verticalSpacing: 6) {
            ForEach(Array(block.rows.enumerated()), id: \.offset) { at, row in
                GridRow {
                    ForEach(Array(row.enumerated()), id: \.offset) { _, cell in
                        Text(Self.inline(cell)).fontWeight(at == 0 ? .semibold : .regular)
                    }
                }
            }
        }
    }

    private var styled: some View {
        Text(Self.inline(block.text)).textSelection(.enabled)
    }

    /// Line breaks stay; a text that is no Markdown is shown as it is.
    private static func inline(_ text: String) -> AttributedString {
        let options = AttributedString.MarkdownParsingOptions(
            interpretedSyntax: .inlineOnlyPreservingWhitespace)
        return (try? AttributedString(markdown: text, options: options)) ?? AttributedString(text)
    }
}
