/** A JSON document in its wire shape. */
export type Document = Readonly<Record<string, unknown>>
