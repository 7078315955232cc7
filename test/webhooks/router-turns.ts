import { sql } from 'kysely'
import type { Context } from '../../src/platform/context.ts'

/** Pauses of a change with several transactions. */
export interface RouterTurns {
  /** To be called instead of a pause: looks whether the router would get all lanes then. */
  readonly pause: (ms: number) => Promise<void>
  /** How long each of the pauses would have been. */
  readonly pauses: number[]
  /** The number of lanes that the router would have got in each of them. */
  readonly lanes: number[]
}

export function createRouterTurns(ctx: Context): RouterTurns {
  const [pauses, lanes]: [number[], number[]] = [[], []]
  const pause = async (ms: number): Promise<void> => {
    pauses.push(ms)
    const { rows } = await sql`
      select from webhook w join webhook_lane l on l.webhook_id = w.id
      for key share of w skip locked for no key update of l skip locked
    `.execute(ctx.db)
    lanes.push(rows.length)
  }
  return { pause, pauses, lanes }
}
