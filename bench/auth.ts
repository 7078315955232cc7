import { randomBytes } from 'node:crypto'
import { Agent, request } from 'node:http'
import autocannon from 'autocannon'
import { type AuthenticateToken, createAuthenticateToken } from '../src/access/authentication/authenticate-token.ts'
import { createPasswords } from '../src/access/authentication/password.ts'
import { createRequestLimits } from '../src/access/request-limits.ts'
import { type TokenUses, createTokenUses } from '../src/access/authentication/token-uses.ts'
import { bootstrap } from '../src/accounts/bootstrap.ts'
import { openContext } from '../src/app/open-context.ts'
import type { Context } from '../src/platform/context.ts'
import { createSecrets } from '../src/platform/secrets.ts'
import { withDatabase } from './support/database.ts'
import { type Signalbox, startSignalbox } from './support/signalbox.ts'

/** Measures the cost of checking a token, and the effect of password guessing on callers with a token. */
const CHECKS_AT_ONCE = [1, 64]
const ROUNDS = 21
const CHECKS_A_ROUND = 1280

const CALLERS = 8
const LOAD_S = 6
const WARM_UP_S = 3
const WRONG_LOGINS = 1000

export async function run(): Promise<Record<string, unknown>> {
  return { token_check: await measureChecks(), wrong_logins: await measureWrongLogins() }
}

async function measureChecks(): Promise<Record<string, number>> {
  return withDatabase('warn', async (database) => {
    const context = await openContext({ ...database, secrets: createSecrets(randomBytes(32)) })
    context.listen()
    const { ctx } = context
    const tokenUses = createTokenUses(ctx)
    const org = { email: 'bench@example.test', password: 'not a secret', orgName: 'Bench' }
    const { apiToken } = await bootstrap(ctx, createPasswords(), org)
    const check = checkOf(ctx, tokenUses, apiToken)
    const figures: Record<string, number> = {}
    for (const atOnce of CHECKS_AT_ONCE) figures[`cpu_us_${atOnce}_at_once`] = await medianCpuUs(check, atOnce)
    await tokenUses.stop()
    await context.close()
    return figures
  })
}

/** Runs everything that stands between a token and the operation: database, addresses, age, recording, limit. */
function checkOf(ctx: Context, tokenUses: TokenUses, key: string): () => Promise<void> {
  const limits = createRequestLimits({
    requestsPerHour: Number.MAX_SAFE_INTEGER,
    accountRequestsPerHour: Number.MAX_SAFE_INTEGER,
  })
  const byToken: AuthenticateToken = createAuthenticateToken(ctx, tokenUses)
  return async () => limits.take(await byToken(key, { srcIp: '127.0.0.1' }))
}

/** Measures the CPU time of this process with all its threads; the database is another process. */
async function medianCpuUs(check: () => Promise<void>, atOnce: number): Promise<number> {
  const perCheck: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = process.cpuUsage()
    const lanes = Array.from({ length: atOnce }, async () => {
      for (let done = 0; done < CHECKS_A_ROUND / atOnce; done += 1) await check()
    })
    await Promise.all(lanes)
    const { user, system } = process.cpuUsage(before)
    perCheck.push((user + system) / CHECKS_A_ROUND)
  }
  return Math.round(10 * median(perCheck)) / 10
}

async function measureWrongLogins(): Promise<Record<string, number>> {
  const signalbox = await startSignalbox()
  try {
    await tokenCalls(signalbox, WARM_UP_S)
    const quiet = await tokenCalls(signalbox, LOAD_S)
    const flood = startWrongLogins(signalbox.url)
    const flooded = await tokenCalls(signalbox, LOAD_S)
    const { refused, limited } = await flood.stop()
    return {
      in_flight: WRONG_LOGINS,
      refused,
      limited,
      quiet_p99_ms: quiet,
      flooded_p99_ms: flooded,
      added_p99_ms: flooded - quiet,
    }
  } finally {
    await signalbox.stop()
  }
}

/** @returns The 99th percentile of the latency of these calls, in milliseconds. */
async function tokenCalls({ url, authorization }: Signalbox, seconds: number): Promise<number> {
  const result = await autocannon({
    url: `${url}/api/v1/self`,
    connections: CALLERS,
    duration: seconds,
    headers: { authorization },
  })
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${result.non2xx} answers were no success`)
  return result.latency.p99
}

interface Flood {
  /** Returns how many logins the server refused as wrong, and how many as too many. */
  stop(): Promise<{ readonly refused: number; readonly limited: number }>
}

/** Maintains a constant number of requests in flight: each answer is followed by a login to the next account. */
function startWrongLogins(url: string): Flood {
  const agent = new Agent({ keepAlive: true, maxSockets: WRONG_LOGINS })
  const counts = { refused: 0, limited: 0 }
  const over = new AbortController()
  let next = 0
  const lanes = Array.from({ length: WRONG_LOGINS }, async () => {
    while (!over.signal.aborted) {
      const status = await wrongLogin(url, agent, (next += 1))
      if (status === 401) counts.refused += 1
      else counts.limited += 1
    }
  })
  return {
    async stop() {
      over.abort()
      await Promise.all(lanes)
      agent.destroy()
      return counts
    },
  }
}

function wrongLogin(url: string, agent: Agent, guess: number): Promise<number> {
  const authorization = `Basic ${Buffer.from(`someone-${guess}@example.test:guess`).toString('base64')}`
  return new Promise((resolve, reject) => {
    const call = request(`${url}/api/v1/self`, { agent, headers: { authorization } }, (answer) => {
      answer.resume()
      answer.on('end', () => resolve(answer.statusCode ?? 0))
    })
    call.on('error', reject)
    call.end()
  })
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
