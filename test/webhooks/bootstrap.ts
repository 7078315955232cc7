import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'

export type Call = (method: string, path: string, body: unknown) => Promise<unknown>

/** Calls a server by HTTP and expects success. */
export function callerOf(url: string, authorization: string): Call {
  const headers = { authorization, 'content-type': 'application/json' }
  return async (method, path, body) => {
    const answer = await fetch(url + path, { method, headers, body: JSON.stringify(body) })
    expect(answer.status).toBe(200)
    return answer.json()
  }
}

export interface Made {
  readonly org_id: string
  readonly api_token: string
}

/** Creates, as the operator, the organization whose webhooks a test interrupts. */
export async function bootstrap(url: string, dataDir: string): Promise<Made> {
  const key = (await readFile(join(dataDir, 'operator.key'), 'utf8')).trim()
  const operate = callerOf(url, `Operator ${key}`)
  const body = { email: 'ada@example.test', password: 'a horse of another colour', org: 'Engines' }
  return (await operate('POST', '/operator/v1/bootstrap', body)) as Made
}
