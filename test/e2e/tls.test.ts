import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import { expect, it, onTestFinished } from 'vitest'
import { createClient } from '../../src/cli/client.ts'
import { startServerProcess } from '../support/servers/server-process.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

const email = 'operator@example.test'
const password = 'correct horse battery'

it(
  'serves https with a certificate of its own CA, and sends and takes its cookies with TLS only',
  { timeout: 120_000 },
  async () => {
    const dataDir = join(await temporaryDir(), 'data')
    const { url } = await startServerProcess({ dataDir, env: { SIGNALBOX_TLS: 'self-signed' } })
    expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/)
    const operatorKey = (await readFile(join(dataDir, 'operator.key'), 'utf8')).trim()
    const operator = createClient({ url, authorization: `Operator ${operatorKey}`, dataDir })
    await operator.call('POST', '/operator/v1/bootstrap', { email, password, org: 'Test' })

    const dispatcher = new Agent({ connect: { ca: await readFile(join(dataDir, 'device-ca/ca.pem')) } })
    onTestFinished(() => dispatcher.close())
    const { statusCode, headers, body } = await request(`${url}/api/v1/login`, {
      dispatcher,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email, password }),
    })
    expect(statusCode).toBe(200)
    await body.dump()
    const cookies = [headers['set-cookie'] ?? []].flat()
    expect(cookies.map((cookie) => cookie.split('=', 1)[0])).toEqual([
      '__Host-sessionid',
      'csrftoken',
      '__Host-deviceid',
    ])
    for (const cookie of cookies) expect(cookie).toMatch(/; Secure/)
    expect(headers).toMatchObject({
      'strict-transport-security': 'max-age=31536000',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    })

    // A cookie that another host of the domain could have set is not a session.
    const session = cookies[0]?.split(';', 1)[0] ?? ''
    const statusWith = async (cookie: string) => {
      const answer = await request(`${url}/api/v1/self`, { dispatcher, headers: { cookie } })
      await answer.body.dump()
      return answer.statusCode
    }
    expect(await statusWith(session)).toBe(200)
    expect(await statusWith(session.replace('__Host-', ''))).toBe(401)
  },
)
