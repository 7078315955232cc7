import { createHmac } from 'node:crypto'
import type pg from 'pg'
import { type Dispatcher, Pool } from 'undici'

const RECORD_MS = 100
const KEY = 's'.repeat(32)

/** Sends signed requests and records their answers, together with those of the same 100 ms. */
export interface BareSender {
  /** Resolves when the answer has arrived, before it is recorded. */
  send(id: number, body: string): Promise<void>
  /** Records the answers that have arrived. */
  flush(): Promise<void>
  end(): Promise<void>
}

interface BareSenderOptions {
  readonly database: pg.Pool
  /** The origin of the receiver. */
  readonly origin: string
  readonly connections: number
}

/** The least that sending and recording takes. The sender uses a new table `bare_attempt`, and deletes it at its end. */
export async function createBareSender({ database, origin, connections }: BareSenderOptions): Promise<BareSender> {
  const http = new Pool(origin, { connections })
  await database.query(
    'create table bare_attempt (event_id bigint primary key, status integer not null, body text not null)',
  )
  let answers: { readonly id: number; readonly body: string; readonly status: number }[] = []
  async function flush(): Promise<void> {
    const written = answers
    answers = []
    if (written.length === 0) return
    await database.query({
      name: 'attempts',
      text: 'insert into bare_attempt select * from unnest($1::bigint[], $2::integer[], $3::text[])',
      values: [written.map(({ id }) => id), written.map(({ status }) => status), written.map(({ body }) => body)],
    })
  }
  const timer = setInterval(() => void flush(), RECORD_MS)
  return {
    async send(id, body) {
      answers.push({ id, body, status: await post(http, body) })
    },
    flush,
    async end() {
      clearInterval(timer)
      await http.close()
      await database.query('drop table bare_attempt')
    },
  }
}

function post(http: Dispatcher, body: string): Promise<number> {
  const headers = {
    'content-type': 'application/json',
    'x-signature': createHmac('sha256', KEY).update(body).digest('hex'),
  }
  return new Promise((resolve, reject) => {
    let status = 0
    http.dispatch(
      { method: 'POST', path: '/healthy/bare', headers, body },
      {
        onRequestStart() {},
        onResponseStart(_controller, answered) {
          status = answered
        },
        onResponseData() {},
        onResponseEnd: () => resolve(status),
        onResponseError: (_controller, error) => reject(error),
      },
    )
  })
}
