// Checks that whoever takes a scope of a site or of some sites looks at the sites: a function that reads nothing of such
// a scope but the organization or the actor would show rows of sites that the caller has no right to. It should filter, or
// take an InOrg if what it reads has no site.
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))

/** The index behind the bracket that closes the one at `open`. */
function endOf(text, open) {
  let depth = 0
  for (let index = open; index < text.length; index += 1) {
    if ('([{'.includes(text[index])) depth += 1
    if (')]}'.includes(text[index])) depth -= 1
    if (depth === 0) return index + 1
  }
  return text.length
}

/** The functions of a file: name, parameters and body. */
function functionsIn(text) {
  return [...text.matchAll(/\nexport (?:async )?function (\w+)|\n(?:async )?function (\w+)/g)].map((match) => {
    const open = text.indexOf('(', match.index)
    const close = endOf(text, open)
    const end = text.indexOf('\n}\n', close)
    return { name: match[1] ?? match[2], params: text.slice(open, close), body: text.slice(close, end) }
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

const found = globSync('src/**/*.ts', { cwd: ROOT }).flatMap((file) =>
  functionsIn(readFileSync(join(ROOT, file), 'utf8'))
    .filter(ignoresSites)
    .map(({ name }) => `${file}: ${name} takes a scope of sites and looks at none of them`),
)
for (const line of found) process.stderr.write(`check-scopes: ${line}\n`)
process.exitCode = found.length === 0 ? 0 : 1
