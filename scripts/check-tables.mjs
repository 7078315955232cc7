// Checks that SQL names only tables of its own folder or of lower folders, as imports do, and that only the folder of a
// table writes it. A table belongs to the folder whose tables.ts adds it to the schema.
import { globSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const { below } = createRequire(import.meta.url)('./layers.cjs')

/** Folders that write a table of another folder, each with the reason. */
const WRITERS = new Map([
  ['orgs writes org', 'access reads organizations to authorize, and orgs maintains them'],
  ['orgs writes site', 'access reads sites to authorize, and orgs maintains them'],
  ['accounts writes admin', 'access reads admins to authenticate, and accounts maintains them'],
  ['accounts writes session', 'access records the use of a session, and accounts opens and ends it'],
  ['accounts writes apiToken', 'access records the use of a token, and accounts maintains it'],
])

const folderOf = (file) => file.split('/')[1]
const snake = (name) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Lists the table names that a file adds to the schema. */
function tablesIn(file) {
  const text = readFileSync(join(ROOT, file), 'utf8')
  const [, members = ''] = /interface Schema \{([^}]*)\}/.exec(text) ?? []
  return [...members.matchAll(/(\w+): \w+/g)].map(([, name]) => name)
}

/** Returns true if the source of a store names the table, through Kysely, in SQL or as text. */
function names(text, table) {
  const inCode = new RegExp(`(selectFrom|insertInto|updateTable|deleteFrom|[jJ]oin|from|using)\\(\\s*\\[?'${table}[' ]`)
  const inSql = new RegExp(`\\b(from|join|into|update|using|only)\\s+${snake(table)}\\b(?! *\\()`)
  // Helpers get the name of a table as text. A name of one word is found in other texts too.
  const asText = snake(table).includes('_') && text.includes(`'${snake(table)}'`)
  return inCode.test(text) || inSql.test(text) || asText || writes(text, table)
}

/** Returns true if the source of a store writes the table, through Kysely, in SQL, or by the columns of platform/database/rows.ts. */
function writes(text, table) {
  const inCode = new RegExp(`(insertInto|updateTable|deleteFrom)\\(\\s*'${table}[' ]`)
  const inSql = new RegExp(`\\b(insert into|update|delete from|merge into)\\s+${snake(table)}\\b(?! *\\.)`)
  const columns = [...text.matchAll(new RegExp(`const (\\w+) = columnsOf\\(\\s*'${table}'`, 'g'))].map(
    ([, name]) => name,
  )
  const byRows = columns.some((name) =>
    new RegExp(`(insertRows|copyRows|updateRows)\\(\\s*\\w+,\\s*${name}\\b`).test(text),
  )
  return inCode.test(text) || inSql.test(text) || byRows
}

const owners = new Map(
  ['src/platform/database/schema.ts', ...globSync('src/**/tables.ts', { cwd: ROOT })].flatMap((file) =>
    tablesIn(file).map((table) => [table, folderOf(file)]),
  ),
)
const stores = globSync('src/**/store*.ts', { cwd: ROOT }).map((file) => {
  const text = readFileSync(join(ROOT, file), 'utf8').replaceAll(/\/\*[^]*?\*\/|\/\/[^\n]*/g, '')
  return { file, text, known: below(folderOf(file)) }
})
const wrong = stores.flatMap(({ file, text, known }) =>
  [...owners].flatMap(([table, owner]) => {
    if (!known.includes(owner) && names(text, table)) return [`${file} names ${table} of ${owner}`]
    if (owner === folderOf(file) || !writes(text, table)) return []
    const writer = `${folderOf(file)} writes ${table}`
    return WRITERS.has(writer) ? [] : [`${file} writes ${table} of ${owner}`]
  }),
)
const unused = [...WRITERS.keys()].filter((writer) => {
  const [folder, , table] = writer.split(' ')
  return !stores.some(({ file, text }) => folderOf(file) === folder && writes(text, table))
})
for (const line of wrong) process.stderr.write(`check-tables: ${line}\n`)
for (const line of unused)
  process.stderr.write(`check-tables: this no longer happens, remove it from the list: ${line}\n`)
if (owners.size === 0) process.stderr.write('check-tables: found no tables\n')
process.exitCode = wrong.length + unused.length === 0 && owners.size > 0 ? 0 : 1
