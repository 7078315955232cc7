import { createHash } from 'node:crypto'
import Fastify from 'fastify'
import { endPool } from '../../../src/platform/database/connections/end-pool.ts'
import { startEmbeddedPostgres } from '../../../src/platform/embedded-postgres/embedded-postgres.ts'
import { createLog } from '../../../src/platform/log.ts'
import { openBarePool } from '../bare-pool.ts'
import { createBareSender } from './bare-sender.ts'

/**
 * The least that a change by the API takes, as the reference for a `PUT`: a Fastify route reads a token, changes one row
 * and inserts a record of the change with the same commit, and answers with the row. The change is then sent to the
 * receiver, in a signed request, and the answer is recorded. Nothing is authorized, compared, locked, limited or routed.
 * Its arguments are a data folder and the receiver's address.
 */
const [dataDir = '', receiver = ''] = process.argv.slice(2)
const postgres = await startEmbeddedPostgres({ dataDir, log: createLog('error') })
const database = openBarePool(postgres.connection)
const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest()
await database.query(`
  create table bare_token (hash bytea primary key, name text not null);
  create table bare_site (id integer primary key, name text not null, modified_at timestamptz not null);
  create table bare_change (id bigint primary key, body text not null);
  insert into bare_site values (1, 'Site', now())`)
await database.query('insert into bare_token values ($1, $2)', [hashOf('Token bare'), 'Bench'])
const sender = await createBareSender({ database, origin: new URL(receiver).origin, connections: 4 })

let changes = 0
const http = Fastify()
http.put<{ Params: { id: string }; Body: { name: string } }>('/sites/:id', async (request, reply) => {
  const { rows: tokens } = await database.query<{ name: string }>({
    name: 'token',
    text: 'select name from bare_token where hash = $1',
    values: [hashOf(request.headers.authorization ?? '')],
  })
  const [token] = tokens
  if (token === undefined) return reply.code(401).send()
  const id = (changes += 1)
  const message = `Update Site ${request.body.name}`
  const body = JSON.stringify({ topic: 'audits', events: [{ id, message, admin_name: token.name }] })
  const { rows } = await database.query({
    name: 'change',
    text: `with change as (insert into bare_change values ($1, $2))
      update bare_site set name = $3, modified_at = now() where id = $4 returning *`,
    values: [id, body, request.body.name, request.params.id],
  })
  void sender.send(id, body)
  return rows[0]
})
const url = await http.listen({ host: '127.0.0.1', port: 0 })
process.stdout.write(`bare ready ${url}\n`)

async function stop(): Promise<void> {
  await http.close()
  await sender.end()
  await endPool(database)
  await postgres.stop()
  process.exit(0)
}
process.once('disconnect', () => void stop())
process.once('SIGINT', () => void stop())
