/** A page in a browser: its URL and its content. */
export interface BrowserPage {
  readonly url: URL
  readonly status: number
  readonly location: string | null
  readonly text: string
}

export interface PageRequest {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string
}

/**
 * A browser without scripts. It stores cookies, follows redirects and submits forms, and its fetch sends Sec-Fetch
 * headers.
 */
export interface Browser {
  /** Does not follow redirects. */
  open(url: string | URL, request?: PageRequest): Promise<BrowserPage>
  /** Follows redirects until `stop` returns true for the next URL, which is then the `location` of the result. */
  follow(url: string | URL, stop?: (next: URL) => boolean): Promise<BrowserPage>
  submit(page: BrowserPage, fields: Record<string, string>, stop?: (next: URL) => boolean): Promise<BrowserPage>
  cookie(url: string, name: string): string | undefined
}

interface Cookie {
  readonly origin: string
  readonly path: string
  readonly name: string
  readonly value: string
}

export function openBrowser(): Browser {
  let jar: Cookie[] = []

  function keep(url: URL, line: string): void {
    const [pair = '', ...attributes] = line.split(/;\s*/)
    const [name = '', value = ''] = pair.split(/=(.*)/s, 2)
    const options = new Map(attributes.map((text) => [text.split('=')[0]?.toLowerCase(), text.split('=')[1] ?? '']))
    const path = options.get('path') ?? '/'
    jar = jar.filter((other) => other.origin !== url.origin || other.path !== path || other.name !== name)
    const expires = options.get('expires')
    if (expires === undefined || new Date(expires).getTime() > 1000) jar.push({ origin: url.origin, path, name, value })
  }

  async function open(target: string | URL, { method = 'GET', headers = {}, body }: PageRequest = {}) {
    const url = new URL(target)
    const cookies = jar.filter(({ origin, path }) => origin === url.origin && url.pathname.startsWith(path))
    const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
    const answer = await fetch(url, {
      method,
      redirect: 'manual',
      headers: { ...(cookie !== '' && { cookie }), ...headers },
      ...(body !== undefined && { body }),
    })
    for (const line of answer.headers.getSetCookie()) keep(url, line)
    return { url, status: answer.status, location: answer.headers.get('location'), text: await answer.text() }
  }

  async function followFrom(first: BrowserPage, stop: (next: URL) => boolean): Promise<BrowserPage> {
    let page = first
    for (let hops = 0; hops < 20 && page.location !== null; hops += 1) {
      const next = new URL(page.location, page.url)
      if (stop(next)) return page
      page = await open(next)
    }
    return page
  }

  return {
    open,
    follow: async (url, stop = () => false) => followFrom(await open(url), stop),
    async submit(page, fields, stop = () => false) {
      const [, action = ''] = /<form[^>]*action="([^"]+)"/.exec(page.text) ?? []
      const hidden = [...page.text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)]
      const form = new URLSearchParams({
        ...Object.fromEntries(hidden.map(([, name, value]) => [name, value])),
        ...fields,
      })
      const sent = await open(new URL(action, page.url), {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: form.toString(),
      })
      return followFrom(sent, stop)
    },
    cookie: (url, name) => jar.find((cookie) => cookie.origin === new URL(url).origin && cookie.name === name)?.value,
  }
}
