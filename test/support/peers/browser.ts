import { Secret, TOTP } from 'otpauth'
import type { Answer, TestServer } from '../servers/server.ts'

/** A browser's view of the server: it keeps cookies and sends the CSRF token. */
export interface Browser {
  readonly cookies: Map<string, string>
  call(method: string, path: string, body?: unknown): Promise<Answer>
  login(email: string, password: string, code?: string): Promise<Answer>
}

export function createBrowser(server: TestServer): Browser {
  const cookies = new Map<string, string>()
  async function call(method: string, path: string, body?: unknown): Promise<Answer> {
    const csrf = cookies.get('csrftoken')
    const answer = await server.call(method, path, {
      as: null,
      headers: {
        ...(cookies.size > 0 && { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') }),
        ...(csrf !== undefined && { 'x-csrftoken': csrf }),
      },
      ...(body !== undefined && { body }),
    })
    for (const line of answer.headers.getSetCookie()) {
      const [name = '', value = ''] = (line.split(';', 1)[0] ?? '').split('=', 2)
      if (value === '') cookies.delete(name)
      else cookies.set(name, value)
    }
    return answer
  }
  return {
    cookies,
    call,
    login: (email, password, code) =>
      call('POST', '/login', { email, password, ...(code !== undefined && { two_factor: code }) }),
  }
}

/** Returns the code that an authenticator app shows at `now`. */
export function codeAt(secret: string, now: Date): string {
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: now.getTime() })
}

/** Returns true for 200 with `{}`, the answer that reveals nothing and requires no further step. */
export function isEmptyAnswer({ status, body }: Answer): boolean {
  return status === 200 && JSON.stringify(body) === '{}'
}
