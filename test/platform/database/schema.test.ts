import { globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import { type TsType, parse } from '@swc/core'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestContext, createTestContext } from '../../support/servers/server.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

interface Column {
  readonly name: string
  readonly nullable: boolean
  /** The type of the value in TypeScript: string, number, boolean, Date, or any other type. */
  readonly type: string
}

/** Resolves a TypeScript type to the type of the values that queries return. */
function readType(type: TsType): { readonly type: string; readonly nullable: boolean } {
  if (type.type === 'TsUnionType') {
    const parts = type.types.map(readType)
    const value = parts.find((part) => part.type !== 'null')
    return { type: value?.type ?? 'null', nullable: parts.some((part) => part.type === 'null' || part.nullable) }
  }
  if (type.type === 'TsKeywordType') return { type: type.kind, nullable: false }
  if (type.type === 'TsLiteralType') return { type: 'string', nullable: false }
  if (type.type === 'TsParenthesizedType') return readType(type.typeAnnotation)
  if (type.type === 'TsArrayType' || type.type === 'TsTypeOperator') return { type: 'array', nullable: false }
  if (type.type !== 'TsTypeReference' || type.typeName.type !== 'Identifier') return { type: 'other', nullable: false }
  const name = type.typeName.value
  const [first] = type.typeParams?.params ?? []
  if (['Generated', 'GeneratedAlways', 'ColumnType'].includes(name) && first !== undefined) return readType(first)
  if (name === 'DocumentColumn') return { type: 'document', nullable: false }
  if (name === 'Json' || name === 'DefaultJson')
    return { type: 'json', nullable: first !== undefined && readType(first).nullable }
  return { type: name === 'Date' ? 'Date' : 'other', nullable: false }
}

/** Returns every table of the schema, by its name in camel case, as the folders declare it. */
async function declaredTables(): Promise<Map<string, Column[]>> {
  const files = ['src/platform/database/schema.ts', ...globSync('src/**/tables.ts', { cwd: ROOT })]
  const interfaces = new Map<string, Column[]>()
  const tables = new Map<string, string>()
  for (const file of files) {
    const { body } = await parse(await readFile(join(ROOT, file), 'utf8'), { syntax: 'typescript' })
    const statements = body.flatMap((item) => {
      if (item.type === 'TsModuleDeclaration' && item.body?.type === 'TsModuleBlock') return item.body.body
      return [item.type === 'ExportDeclaration' ? item.declaration : item]
    })
    for (const statement of statements) {
      if (statement.type !== 'TsInterfaceDeclaration') continue
      const columns = statement.body.body.flatMap((member): Column[] => {
        if (member.type !== 'TsPropertySignature' || member.key.type !== 'Identifier') return []
        const annotation = member.typeAnnotation?.typeAnnotation
        if (annotation === undefined) return []
        if (
          statement.id.value === 'Schema' &&
          annotation.type === 'TsTypeReference' &&
          annotation.typeName.type === 'Identifier'
        )
          tables.set(member.key.value, annotation.typeName.value)
        return [{ name: member.key.value, ...readType(annotation) }]
      })
      interfaces.set(statement.id.value, columns)
    }
  }
  return new Map([...tables].map(([table, name]) => [table, interfaces.get(name) ?? []]))
}

const camel = (name: string): string => name.replaceAll(/_(\w)/g, (_all, letter: string) => letter.toUpperCase())

/** The types to which pg converts a column's values. */
const typeOf: Readonly<Record<string, string>> = {
  uuid: 'string',
  text: 'string',
  int2: 'number',
  int4: 'number',
  int8: 'string',
  float4: 'number',
  float8: 'number',
  bool: 'boolean',
  timestamptz: 'Date',
  bytea: 'Buffer',
  inet: 'string',
  cidr: 'string',
  date: 'Date',
}

let test: TestContext
beforeAll(async () => {
  test = await createTestContext()
})
afterAll(() => test.close())

it('declares the tables of the migrations, with their columns, types and nulls', async () => {
  const { rows } = await sql<{ table: string; column: string; type: string; nullable: string; computed: boolean }>`
    select c.table_name as table, c.column_name as column, c.udt_name as type, c.is_nullable as nullable,
      t.table_type = 'VIEW' or c.is_generated = 'ALWAYS' as computed
    from information_schema.columns c
    join information_schema.tables t on t.table_schema = c.table_schema and t.table_name = c.table_name
    join pg_class on pg_class.relname = c.table_name and pg_class.relnamespace = 'public'::regnamespace
    where c.table_schema = 'public' and not pg_class.relispartition and c.table_name not like '\\_%'
      and c.table_name <> 'migration'`.execute(test.ctx.db)
  const declared = await declaredTables()
  const described = (name: string, column: Column) =>
    `${name}.${column.name}: ${column.type}${column.nullable ? ' | null' : ''}`
  const made = rows.map(({ table, column, type, nullable, computed }) => {
    const name = camel(table)
    const is = declared.get(name)?.find((one) => one.name === camel(column))
    // The name decides whether queries open its secrets.
    const json = column === 'doc' ? 'document' : 'json'
    const own = type.startsWith('_') ? 'array' : type === 'jsonb' ? json : (typeOf[type] ?? type)
    // The database does not report whether a computed column can be null. The name of one of the project's own types
    // represents a text, a document or bytes.
    const seen = is?.type === 'other' && own !== 'Date' ? 'other' : own
    return described(name, {
      name: camel(column),
      type: seen,
      nullable: computed ? (is?.nullable ?? false) : nullable === 'YES',
    })
  })
  const types = [...declared].flatMap(([name, columns]) => columns.map((column) => described(name, column)))
  expect(types.toSorted()).toEqual(made.toSorted())
})

/** Tables that the deletion of an organization does not reach by foreign keys, and the fate of their rows. */
const WITHOUT_FOREIGN_KEY: Readonly<Record<string, string>> = {
  audit_log: 'kept as long as the operator keeps the audit log',
  device_command: 'deleted by the triggers of device',
  device_disconnection: 'deleted by the trigger of device',
  device_series: 'deleted with its device by devices/store, or with its partition',
  device_value_count: 'deleted by devices/store-value-counts',
  device_value_delta: 'deleted by devices/store-value-counts',
  firmware_download: 'deleted by firmware/store-removal',
  webhook_body: 'kept until its partition expires',
  webhook_deletion: 'deleted by webhooks/deletions, after the messages of the webhook',
  webhook_delivery: 'kept until its partition expires',
  webhook_message: 'deleted by webhooks/deletions',
  webhook_outbox: 'routed to no webhook, and deleted',
  webhook_parked_message: 'deleted by webhooks/deletions',
}

it('says what becomes of the rows of every table when their organization is deleted', async () => {
  const { rows } = await sql<{ name: string }>`
    with recursive reached (id) as (
      select 'org'::regclass::oid
      union
      select conrelid from pg_constraint join reached on confrelid = reached.id where contype = 'f'
    )
    select relname as name from pg_class join pg_attribute on attrelid = pg_class.oid and attname = 'org_id'
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
      and pg_class.oid not in (select id from reached)
    order by 1`.execute(test.ctx.db)
  expect(rows.map(({ name }) => name)).toEqual(Object.keys(WITHOUT_FOREIGN_KEY))
})
