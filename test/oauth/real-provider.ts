import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'
import { vi } from 'vitest'
import type { OauthProvider } from '../../src/accounts/parts.ts'
import type { Browser, BrowserPage } from './browser.ts'

export interface RealProvider {
  /** The provider as the server's operator configures it. */
  readonly settings: OauthProvider
  /** Starts serving, for a server at `baseUrl`. */
  serve(baseUrl: string): void
  close(): Promise<void>
}

/** An OpenID provider from the registry, on a free port. Everyone can sign in there under any name. */
export async function startRealProvider(name: string): Promise<RealProvider> {
  const http = createServer()
  const issuer = await listen(http)
  const settings = { name, clientId: 'signalbox', clientSecret: 'of-the-tests', issuer, acceptRawCodes: false }
  return {
    settings,
    serve(baseUrl) {
      const provider = quietProvider(issuer, {
        clients: [
          {
            client_id: settings.clientId,
            client_secret: settings.clientSecret,
            redirect_uris: [`${baseUrl}/oauth/${name}/callback`],
          },
        ],
        cookies: { keys: ['of the tests'] },
        pkce: { required: () => true },
        ttl: { Interaction: TTL_S, Session: TTL_S, Grant: TTL_S, AccessToken: TTL_S, IdToken: TTL_S },
        findAccount: (_request: unknown, accountId: string) => ({ accountId, claims: () => ({ sub: accountId }) }),
      })
      http.on('request', provider.callback())
    },
    close: () => closeServer(http),
  }
}

const TTL_S = 3600

/** Silences its warnings that its defaults are for development. */
function quietProvider(issuer: string, configuration: Readonly<Record<string, unknown>>): Provider {
  const { warn } = console
  const spy = vi.spyOn(console, 'warn').mockImplementation((...said: unknown[]) => {
    if (!/^oidc-provider WARNING: .*development-only/.test(String(said[0]))) warn(...said)
  })
  try {
    return new Provider(issuer, configuration)
  } finally {
    spy.mockRestore()
  }
}

/** @returns Its URL. */
export async function listen(http: Server): Promise<string> {
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const { port } = http.address() as AddressInfo
  return `http://127.0.0.1:${port}`
}

export async function closeServer(http: Server): Promise<void> {
  http.closeAllConnections()
  await new Promise((resolve) => http.close(resolve))
}

/**
 * Signs in as `login` and consents, if the provider asks.
 *
 * @param stop As of Browser.follow.
 */
export async function agree(
  browser: Browser,
  url: string,
  login: string,
  stop?: (next: URL) => boolean,
): Promise<BrowserPage> {
  let page = await browser.follow(url, stop)
  while (page.text.includes('<form')) page = await browser.submit(page, { login, password: 'any' }, stop)
  return page
}

/** Cancels the sign-in. */
export async function cancel(browser: Browser, url: string): Promise<BrowserPage> {
  const page = await browser.follow(url)
  const [, abort = ''] = /href="([^"]+\/abort)"/.exec(page.text) ?? []
  return browser.follow(new URL(abort, page.url))
}
