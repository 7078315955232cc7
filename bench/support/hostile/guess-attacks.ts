import { randomBytes, randomUUID } from 'node:crypto'
import { type Attack, inLanes, networkAddress } from './attack.ts'
import { strike, strikeAsTenant } from './call.ts'

const NETWORKS = 2000
const LANES = 32

const passwords: Attack = {
  what: 'guesses passwords of the tenant and of others from 2,000 networks, by login and by HTTP Basic',
  run: (run) =>
    inLanes(LANES, run, (lane, round) => {
      const from = networkAddress((lane + round * LANES) % NETWORKS)
      const email = round % 2 === 0 ? run.world.victimEmail : `${randomUUID()}@example.test`
      const password = randomUUID()
      if (lane % 2 === 0)
        return strike(run, { method: 'POST', path: '/login', from, body: JSON.stringify({ email, password }) })
      const authorization = `Basic ${Buffer.from(`${email}:${password}`).toString('base64')}`
      return strike(run, { method: 'GET', path: '/self', from, headers: { authorization } })
    }),
}

const logins: Attack = {
  what: 'signs in with its right password, without end',
  run: (run) => {
    const { email, password } = run.tenant
    return inLanes(LANES, run, () =>
      strike(run, { method: 'POST', path: '/login', body: JSON.stringify({ email, password }) }),
    )
  },
}

const recovery: Attack = {
  what: 'asks to recover the account of the tenant and of others, from 2,000 networks',
  run: (run) =>
    inLanes(LANES, run, (lane, round) => {
      const from = networkAddress((lane + round * LANES) % NETWORKS)
      const email = round % 2 === 0 ? run.world.victimEmail : `${randomUUID()}@example.test`
      return strike(run, { method: 'POST', path: '/recover', from, body: JSON.stringify({ email }) })
    }),
}

const claims: Attack = {
  what: 'guesses claim codes',
  run: (run) =>
    inLanes(LANES, run, () => {
      const codes = Array.from({ length: 100 }, () => `BEN${randomBytes(6).toString('hex').toUpperCase()}`)
      const path = `/orgs/${run.tenant.orgId}/inventory`
      return strikeAsTenant(run, { method: 'POST', path, body: JSON.stringify(codes) })
    }),
}

/** Guesses, and the work that each one costs. */
export const guessAttacks = { passwords, logins, recovery, claims }
