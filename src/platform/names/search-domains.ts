/** How names are completed before a name server is queried. Source: resolv.conf(5). */
export interface SearchDomains {
  readonly domains: readonly string[]
  /** Names with this many dots are first tried unchanged. */
  readonly dots: number
}

const MAX_DOMAINS = 6
const MAX_DOTS = 15

/** Parses `search`, `domain` and the option `ndots` of a resolv.conf; the last of `search` and `domain` wins. */
export function parseSearchDomains(text: string): SearchDomains {
  let domains: readonly string[] = []
  let dots = 1
  for (const line of text.split('\n')) {
    const [keyword, ...values] = line
      .replace(/[#;].*/, '')
      .trim()
      .split(/\s+/)
    if (keyword === 'search') domains = values
    else if (keyword === 'domain') domains = values.slice(0, 1)
    else if (keyword === 'options') dots = dotsIn(values) ?? dots
  }
  return {
    domains: domains
      .map((domain) => domain.replace(/\.$/, ''))
      .filter(Boolean)
      .slice(0, MAX_DOMAINS),
    dots,
  }
}

/** Returns the number of the last option `ndots`, if there is one. */
function dotsIn(options: readonly string[]): number | undefined {
  const given = options.flatMap((option) => /^ndots:(\d+)$/.exec(option)?.[1] ?? []).at(-1)
  return given === undefined ? undefined : Math.min(Number(given), MAX_DOTS)
}

/** Returns the names to query, in order, until one exists. A name that ends with a dot is complete. */
export function listCandidates(name: string, { domains, dots }: SearchDomains): string[] {
  if (name.endsWith('.')) return [name.slice(0, -1)]
  const completed = domains.map((domain) => `${name}.${domain}`)
  return name.split('.').length > dots ? [name, ...completed] : [...completed, name]
}
