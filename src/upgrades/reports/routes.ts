import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Readable } from 'node:stream'
import { type Static, Type } from 'typebox'
import { coversOrg } from '../../access/scope.ts'
import { orgAndSite } from '../../http/at.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { Uuid } from '../../http/schemas.ts'
import { encodeCsv, encodeJson } from './encode-report.ts'
import { invalidField } from '../../platform/errors.ts'
import { kinds } from '../kinds.ts'
import { type Report, type ReportRow, readReport } from './read-report.ts'
import { getReported, getReportedOfSite } from './store.ts'
import { presentReportDevice, presentReportLine, reportColumns } from './wire-devices.ts'
import { ReportQuery, ReportReply, presentSummary } from './wire.ts'

const declared = {
  method: 'GET',
  tag: { org: 'Upgrades', site: 'Upgrades' },
  params: { upgrade_id: Uuid },
  query: ReportQuery,
  reply: ReportReply,
  otherReplies: { 'text/csv': Type.String() },
} as const

interface Asked {
  readonly query: Static<typeof ReportQuery>
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly params: { readonly upgrade_id: string }
}

/** Reports of upgrades, running or ended. Ours. */
export const upgradeReportOperations: Operation[] = kinds.flatMap(({ kind, path, name, words }) =>
  operation({
    ...declared,
    id: { org: `getOrg${name}UpgradeReport`, site: `getSite${name}UpgradeReport` },
    summary: {
      org: `Get a report of an upgrade${words}: downtime, failures, phases and decisions`,
      site: `Get a report of an upgrade${words} of a site: downtime, failures and decisions`,
    },
    at: orgAndSite(`${path}/:upgrade_id/report`, { needs: 'read' }),
    run: async (ctx, { scope, ...asked }) => {
      const { upgrade_id: id } = asked.params
      const upgrade = coversOrg(scope)
        ? await getReported(ctx.db, scope, id, kind)
        : await getReportedOfSite(ctx.db, scope, id, kind)
      return answer(await readReport(ctx.db, scope, upgrade), asked)
    },
  }),
)

function answer(report: Report, { query, request, reply, params: { upgrade_id: id } }: Asked): Readable {
  const format = query.format ?? (prefersCsv(request.headers.accept) ? 'csv' : 'json')
  if (format === 'csv' && query.devices === false)
    throw invalidField('devices', 'is false, but a report as CSV has nothing but devices')
  if (format === 'csv') {
    void reply.type('text/csv; charset=utf-8')
    void reply.header('content-disposition', `attachment; filename="upgrade-${id}.csv"`)
  }
  return encodeReport(query.devices === false ? { ...report, rows: noRows } : report, format)
}

/** Returns the text of a report, which reads the devices while it is taken. */
export function encodeReport(report: Report, format: 'json' | 'csv'): Readable {
  if (format === 'csv') return encodeCsv(reportColumns, mapped(report, presentReportLine))
  return encodeJson(presentSummary(report.summary), { name: 'devices', rows: mapped(report, presentReportDevice) })
}

async function* noRows(): AsyncGenerator<ReportRow> {
  yield* []
}

async function* mapped<T>({ rows }: Report, present: (row: ReportRow) => T): AsyncGenerator<T> {
  for await (const row of rows()) yield present(row)
}

/** True if the client names CSV, and neither JSON nor a wildcard. */
function prefersCsv(accept = ''): boolean {
  return accept.includes('text/csv') && !accept.includes('json') && !accept.includes('*/*')
}
