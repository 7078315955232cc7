import { CamelCasePlugin, type PluginTransformResultArgs, type QueryResult, type UnknownRow } from 'kysely'

/**
 * Translates names of columns between code and database. Rows have the names of the code already (NamedQuery): the plugin would
 * make each row anew.
 */
export class ColumnNames extends CamelCasePlugin {
  /** Returns the name that the code has for a column. */
  nameOf(column: string): string {
    return this.camelCase(column)
  }

  override async transformResult({ result }: PluginTransformResultArgs): Promise<QueryResult<UnknownRow>> {
    return result
  }
}
