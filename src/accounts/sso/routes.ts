import { Type } from 'typebox'
import { type Caller, may } from '../../access/authorize.ts'
import type { OrgScope } from '../../access/scope.ts'
import { org } from '../../http/at.ts'
import { listOperation } from '../../http/lists/list-operation.ts'
import { parsePage, presentPage, setPageHeaders } from '../../http/lists/lists.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { Empty, Uuid } from '../../http/schemas.ts'
import { parseTimeRange } from '../../http/lists/search.ts'
import { revealTo } from '../../orgs/secrets/reveal.ts'
import type { Reveal } from '../../orgs/secrets/secrets.ts'
import type { Context } from '../../platform/context.ts'
import type { Document } from '../../platform/json/document.ts'
import { deleteAdminsOfSso } from './delete-sso-admins.ts'
import { metadataOf } from './saml/saml-client.ts'
import { loginWarnings, samlUrls } from './sso.ts'
import { createSso, deleteSso, updateSso } from './ssos.ts'
import { getSso, listSsos } from './store.ts'
import { listFailures } from './store-failures.ts'
import {
  CreateSsoBody,
  DeleteAdminsBody,
  DeleteAdminsReply,
  FailuresQuery,
  FailuresReply,
  MetadataReply,
  SsoReply,
  UpdateSsoBody,
  presentFailure,
  presentMetadata,
  presentSso,
} from './wire.ts'

const tag = 'Orgs SSO'
const params = { sso_id: Uuid }

/** The SSOs of an organization. Source: contract, Orgs SSO. */
export const ssoOperations: Operation[] = [
  listOperation({
    id: 'listOrgSsos',
    summary: 'List the identity providers of an organization',
    tag,
    at: org('/ssos', { needs: 'read' }),
    item: SsoReply,
    run: async (ctx, { scope, caller, page }) => {
      const found = await listSsos(ctx.db, scope, page)
      const reveal = await revealSso(ctx, caller, scope)
      return presentPage(found, (sso) => presentSso(sso, reveal))
    },
  }),
  operation({
    id: 'createOrgSso',
    summary: 'Add an identity provider',
    method: 'POST',
    tag,
    at: org('/ssos', { needs: 'admin' }),
    body: CreateSsoBody,
    reply: SsoReply,
    run: async (ctx, { scope, caller, body }) =>
      presentSso(await createSso(ctx, scope, { caller, body }), await revealSso(ctx, caller, scope, body)),
  }),
  operation({
    id: 'getOrgSso',
    summary: 'Get an identity provider',
    method: 'GET',
    tag,
    at: org('/ssos/:sso_id', { needs: 'read' }),
    params,
    reply: SsoReply,
    run: async (ctx, { scope, caller, params }) =>
      presentSso(await getSso(ctx.db, scope, params.sso_id), await revealSso(ctx, caller, scope)),
  }),
  operation({
    id: 'updateOrgSso',
    summary: 'Update an identity provider',
    method: 'PUT',
    tag,
    at: org('/ssos/:sso_id', { needs: 'admin' }),
    params,
    body: UpdateSsoBody,
    reply: SsoReply,
    run: async (ctx, { scope, caller, params, body }) => {
      const sso = await updateSso(ctx, scope, { id: params.sso_id, caller, body })
      return presentSso(sso, await revealSso(ctx, caller, scope, body))
    },
  }),
  operation({
    id: 'deleteOrgSso',
    summary: 'Delete an identity provider',
    method: 'DELETE',
    tag,
    at: org('/ssos/:sso_id', { needs: 'admin' }),
    params,
    reply: Empty,
    run: (ctx, { scope, params }) => deleteSso(ctx, scope, params.sso_id),
  }),
  operation({
    id: 'deleteOrgSsoAdmins',
    summary: 'Delete admins that an identity provider signs in',
    method: 'POST',
    tag,
    at: org('/ssos/:sso_id/delete_admins', { needs: 'admin' }),
    params,
    body: DeleteAdminsBody,
    reply: DeleteAdminsReply,
    run: async (ctx, { scope, params, body }) => {
      const { deleted, unknown } = await deleteAdminsOfSso(ctx, scope, { ssoId: params.sso_id, emails: body.emails })
      return { deleted, errors: unknown }
    },
  }),
].flat()

/** The data for the administrator of the identity provider, and the failed sign-ins. Source: contract, Orgs SSO. */
export const ssoInsightOperations: Operation[] = [
  operation({
    id: 'getOrgSamlMetadata',
    summary: 'Get the addresses of the SAML service provider',
    method: 'GET',
    tag,
    at: org('/ssos/:sso_id/metadata', { needs: 'read' }),
    params,
    reply: MetadataReply,
    run: async (ctx, { scope, params }) => {
      const sso = await getSso(ctx.db, scope, params.sso_id)
      const metadata = await metadataOf(ctx, sso)
      return presentMetadata(samlUrls(ctx.baseUrl, sso.domain), { metadata, warnings: loginWarnings(sso) })
    },
  }),
  operation({
    id: 'downloadOrgSamlMetadata',
    summary: 'Download the SAML metadata as XML',
    method: 'GET',
    tag,
    at: org('/ssos/:sso_id/metadata.xml', { needs: 'read' }),
    params,
    reply: Type.String(),
    mediaType: 'application/samlmetadata+xml',
    run: async (ctx, { scope, params }) => metadataOf(ctx, await getSso(ctx.db, scope, params.sso_id)),
  }),
  operation({
    id: 'listOrgSsoLatestFailures',
    summary: 'List the latest failed sign-ins by an identity provider',
    method: 'GET',
    tag,
    at: org('/ssos/:sso_id/failures', { needs: 'read' }),
    params,
    query: FailuresQuery,
    reply: FailuresReply,
    run: async (ctx, { scope, caller, params, query, reply }) => {
      const { id: ssoId } = await getSso(ctx.db, scope, params.sso_id)
      const page = parsePage(query)
      const range = parseTimeRange(query, ctx.clock.now())
      const found = await listFailures(ctx.db, scope, { ssoId, ...range, page })
      setPageHeaders(reply, page, found)
      const withAssertion = may(caller, scope, 'admin')
      return { results: found.rows.map((row) => presentFailure(row, withAssertion)) }
    },
  }),
].flat()

/** Only administrators may write here, so only they see secrets. */
async function revealSso(ctx: Context, caller: Caller, scope: OrgScope, written: Document = {}): Promise<Reveal> {
  return may(caller, scope, 'admin') ? revealTo(ctx, caller, scope, written) : { written }
}
