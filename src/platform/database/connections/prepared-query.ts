import pg from 'pg'

type Callback = (error: Error | undefined, result: unknown) => void

/** What the driver needs to decode the rows of a result. */
interface DecodedColumns {
  fields: unknown[]
  _parsers: unknown
  _prebuiltEmptyResultObject: unknown
}

/** What the types of the driver lack. */
interface DriverQuery {
  name: string | undefined
  _result: DecodedColumns
  _accumulateRows: boolean
  prepare(connection: object): void
  handleRowDescription(description: { readonly fields: readonly { name: string }[] }): void
  handleCommandComplete(message: object, connection: object): void
}

const DriverQuery = pg.Query as unknown as new (text: string, values: unknown[], callback: Callback) => DriverQuery

/** The columns of statements that one connection has prepared, by their names; null for a statement that returns no rows. */
type KnownColumns = Map<string, DecodedColumns | null>

export interface QueryText {
  readonly text: string
  readonly values: unknown[]
  /** The name under which it is prepared; undefined if it is not. */
  readonly name: string | undefined
}

export interface ColumnOptions {
  readonly known: KnownColumns
  /** Returns the name of a column in the rows of a result. */
  readonly nameOf: (column: string) => string
}

/**
 * Returns the row that the driver copies for each row of a result. V8 keeps all members of a parsed object in one block. The driver
 * builds its own row member by member, with room for more of them, and each copy takes up to three times the memory.
 */
function emptyRow(fields: readonly { readonly name: string }[]): unknown {
  return JSON.parse(JSON.stringify(Object.fromEntries(fields.map(({ name }) => [name, null]))))
}

/**
 * A statement whose rows have the names that the code uses. The driver asks for the description of the columns at each execution,
 * which takes both sides longer than a row; this one asks once for those of a prepared statement, which has the same columns for as
 * long as it exists: PostgreSQL refuses to execute it if they would change.
 */
export class NamedQuery extends DriverQuery {
  readonly #options: ColumnOptions
  #columns: DecodedColumns | null = null

  constructor({ text, values, name }: QueryText, options: ColumnOptions, callback: Callback) {
    super(text, values, callback)
    if (name !== undefined) this.name = name
    this.#options = options
  }

  override prepare(connection: object): void {
    const columns = this.name === undefined ? undefined : this.#options.known.get(this.name)
    if (columns === undefined) {
      super.prepare(connection)
      return
    }
    if (columns !== null) {
      Object.assign(this._result, columns)
      this._accumulateRows = true
    }
    super.prepare(Object.create(connection, { describe: { value: () => undefined } }))
  }

  override handleRowDescription(description: { readonly fields: readonly { name: string }[] }): void {
    for (const field of description.fields) field.name = this.#options.nameOf(field.name)
    super.handleRowDescription(description)
    this._result._prebuiltEmptyResultObject = emptyRow(description.fields)
    const { fields, _parsers, _prebuiltEmptyResultObject } = this._result
    this.#columns = { fields, _parsers, _prebuiltEmptyResultObject }
  }

  override handleCommandComplete(message: object, connection: object): void {
    super.handleCommandComplete(message, connection)
    const { known } = this.#options
    if (this.name !== undefined && !known.has(this.name)) known.set(this.name, this.#columns)
  }
}
