// Checks the rules of docs/decisions/0029-scopes.md:
//
// - A function that accepts a scope of one or several sites uses its sites. A function that reads only the organization or
//   the actor of such a scope would show rows of sites that the caller may not see. It should filter, or accept an InOrg if
//   its rows have no site.
// - A store of `accounts` accepts a scope: of the organization whose rows it uses, or of the person. A store that needs none,
//   such as the look-up of a mailed token, gives the reason after the tag `@unscoped` of its docstring. No store accepts the
//   id of an organization as plain text, or that of a person without the scope of an organization.
// - Only `access` imports grant(). Routes import no function that makes a scope from an id: their operations receive the
//   scope that `at` proves.
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))

/** Returns the index after the bracket that closes the one at `open`. */
function endOf(text, open) {
  let depth = 0
  for (let index = open; index < text.length; index += 1) {
    if ('([{'.includes(text[index])) depth += 1
    if (')]}'.includes(text[index])) depth -= 1
    if (depth === 0) return index + 1
  }
  return text.length
}

/** Lists the functions of a file: docstring, name, parameters and body. */
function functionsIn(text) {
  return [...text.matchAll(/\nexport (?:async )?function (\w+)|\n(?:async )?function (\w+)/g)].map((match) => {
    const open = text.indexOf('(', match.index)
    const close = endOf(text, open)
    const end = text.indexOf('\n}\n', close)
    const before = text.slice(0, match.index)
    return {
      doc: before.endsWith('*/') ? before.slice(before.lastIndexOf('/**')) : '',
      name: match[1] ?? match[2],
      isExported: match[1] !== undefined,
      params: text.slice(open, close),
      body: text.slice(close, end),
    }
  })
}

function ignoresSites({ params, body }) {
  const members = /\{([^{}]*)\}: (?:SitesScope|SiteScope|PlaceScope)\b/.exec(params)?.[1]
  if (members !== undefined) return !/\bsiteIds?\b/.test(members)
  const name = /(\w+): (?:SitesScope|SiteScope|PlaceScope)\b/.exec(params)?.[1]
  if (name === undefined) return false
  const uses = [...body.matchAll(new RegExp(`\\b${name}\\b(\\.\\w+)?`, 'g'))].map(([, member]) => member)
  return uses.every((member) => member === '.orgId' || member === '.actor')
}

const ORG_SCOPE = /: (?:InOrg|OrgScope|SitesScope|SiteScope|PlaceScope|TokenOwner)\b/
const PERSON_SCOPE = /: (?:AdminScope|TokenOwner)\b/

/** Returns the fault of a function of a store of `accounts`; undefined if it has none. */
function scopeFault({ doc, isExported, params }) {
  if (!isExported || !/: (?:Db|Reader|Tx)\b/.test(params)) return undefined
  if (/\borgId: string\b/.test(params)) return 'takes the id of an organization instead of a scope'
  if (/@unscoped \S/.test(doc)) return undefined
  if (/\badminId: string\b/.test(params) && !ORG_SCOPE.test(params))
    return 'takes the id of a person instead of a scope'
  if (!ORG_SCOPE.test(params) && !PERSON_SCOPE.test(params)) return 'takes no scope and does not say why (@unscoped)'
  return undefined
}

/** Returns the functions that the file must not import from access/scope.ts. */
function forbiddenImports(file, text) {
  const [, names = ''] = /import (?:type )?\{([^}]*)\} from '[./]*\/access\/scope\.ts'/.exec(text) ?? []
  const makers = /\/routes[^/]*\.ts$/.test(file)
    ? /^(grant|systemScope|systemScopeOf|actorScope|adminScope)$/
    : /^grant$/
  return names.split(',').filter((name) => makers.test(name.trim()))
}

const faults = globSync('src/**/*.ts', { cwd: ROOT }).flatMap((file) => {
  const text = readFileSync(join(ROOT, file), 'utf8')
  const functions = functionsIn(text)
  const isAccountStore = /^src\/accounts\/(?:.*\/)?store[^/]*\.ts$/.test(file)
  return [
    ...forbiddenImports(file, text).map((name) => `imports ${name.trim()}, which makes a scope from any id`),
    ...functions.filter(ignoresSites).map(({ name }) => `${name} takes a scope of sites and looks at none of them`),
    ...(isAccountStore ? functions : []).flatMap((it) => {
      const fault = scopeFault(it)
      return fault === undefined ? [] : [`${it.name} ${fault}`]
    }),
  ].map((fault) => `${file}: ${fault}`)
})
for (const fault of faults) process.stderr.write(`check-scopes: ${fault}\n`)
process.exitCode = faults.length === 0 ? 0 : 1
