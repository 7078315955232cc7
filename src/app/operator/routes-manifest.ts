import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { ImportReport } from '../../devices/registry/import-manifest.ts'
import { check } from '../../http/validate.ts'
import type { Context } from '../../platform/context.ts'
import { importHardware } from './import-hardware.ts'
import { type CsvConflict, parseManifest } from './parse-manifest.ts'

const text = Type.String({ minLength: 1, maxLength: 100 })

const ManifestBody = Type.Object({
  devices: Type.Array(
    Type.Object({
      mac: text,
      serial: text,
      model: text,
      claim_code: text,
      type: Type.Optional(Type.Enum(['ap', 'switch', 'gateway', 'mxedge'])),
    }),
    { maxItems: 5000 },
  ),
})

const MAX_BYTES = 8 * 1024 * 1024

/** Manifests of hardware, as JSON or as `text/csv`. Register it if only the operator has access. */
export function manifestRoutes(ctx: Context): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.addContentTypeParser('text/csv', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

    http.post('/manifest', { bodyLimit: MAX_BYTES, schema: { hide: true } }, async ({ body = {} }) =>
      Buffer.isBuffer(body) ? importCsv(ctx, body) : importHardware(ctx, check(ManifestBody, body).devices),
    )
  }
}

/** Conflicts also name the line of the file. */
async function importCsv(
  ctx: Context,
  csv: Buffer,
): Promise<Omit<ImportReport, 'conflicts'> & { readonly conflicts: readonly CsvConflict[] }> {
  const { rows, conflicts } = parseManifest(csv)
  const report = await importHardware(
    ctx,
    rows.map(({ given }) => given),
  )
  const others = report.conflicts.map((conflict) => {
    const { row, line } = rows[conflict.row] ?? { row: conflict.row, line: 0 }
    return { ...conflict, row, line }
  })
  return { ...report, conflicts: [...conflicts, ...others].sort((a, b) => a.row - b.row) }
}
