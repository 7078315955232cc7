// Checks that SQL names only tables of its own folder or of lower ones, as imports do. A table belongs to the folder whose
// tables.ts adds it to the schema.
import { globSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const { below } = createRequire(import.meta.url)('./layers.cjs')

const folderOf = (file) => file.split('/')[1]
const snake = (name) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** The table names that the schema gets in a file. */
function tablesIn(file) {
  const text = readFileSync(join(ROOT, file), 'utf8')
  const [, members = ''] = /interface Schema \{([^}]*)\}/.exec(text) ?? []
  return [...members.matchAll(/(\w+): \w+/g)].map(([, name]) => name)
}

/** Whether the text of a store names the table, by Kysely or in SQL. */
function names(text, table) {
  const inCode = new RegExp(`(selectFrom|insertInto|updateTable|deleteFrom|[jJ]oin|from|using)\\(\\s*\\[?'${table}[' ]`)
  const inSql = new RegExp(`\\b(from|join|into|update|using|only)\\s+${snake(table)}\\b(?! *\\()`)
  return inCode.test(text) || inSql.test(text)
}

const owners = new Map(
  ['src/platform/schema.ts', ...globSync('src/*/tables.ts', { cwd: ROOT })].flatMap((file) =>
    tablesIn(file).map((table) => [table, folderOf(file)]),
  ),
)
const wrong = globSync('src/**/store*.ts', { cwd: ROOT }).flatMap((file) => {
  const text = readFileSync(join(ROOT, file), 'utf8').replaceAll(/\/\*[^]*?\*\/|\/\/[^\n]*/g, '')
  const known = below(folderOf(file))
  return [...owners]
    .filter(([table, owner]) => !known.includes(owner) && names(text, table))
    .map(([table, owner]) => `${file} names ${table} of ${owner}`)
})
for (const line of wrong) process.stderr.write(`check-tables: ${line}\n`)
if (owners.size === 0) process.stderr.write('check-tables: found no tables\n')
process.exitCode = wrong.length === 0 && owners.size > 0 ? 0 : 1
