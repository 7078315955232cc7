import type { ColumnType } from 'kysely'

/** A document on its way into the database, where the connection seals its secrets (document-codec.ts). */
export class DocumentText {
  readonly document: object

  constructor(document: object) {
    this.document = document
  }
}

/** Encodes a document for a column of the type DocumentColumn. */
export function documentText(document: object): DocumentText {
  return new DocumentText(document)
}

/**
 * A jsonb column with a document that clients may write secrets into. All such columns are called `doc`, and no others
 * are: queries return a column of that name with its secrets opened.
 */
export type DocumentColumn<T = Record<string, unknown>> = ColumnType<T, DocumentText, DocumentText>
