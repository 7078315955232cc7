import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { authorize, may } from '../../access/authorize.ts'
import { pageQuery, parsePage, setPageHeaders } from '../../http/lists.ts'
import { Empty, OrgParams } from '../../http/schemas.ts'
import { parseTimeRange } from '../../http/search.ts'
import type { Context } from '../../platform/context.ts'
import { deleteAdminsOfSso } from './delete-sso-admins.ts'
import { ssoRoleRoutes } from './routes-roles.ts'
import { metadataOf } from './saml-client.ts'
import { samlUrls } from './sso.ts'
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
  SsoParams,
  SsoReply,
  UpdateSsoBody,
  presentFailure,
  presentMetadata,
  presentSso,
} from './wire.ts'

const tags = ['Orgs SSO']
const collection = '/orgs/:org_id/ssos'
const single = `${collection}/:sso_id`

/** Single sign-on of an organization, and the roles it gives. Source: contract, Orgs SSO and Orgs SSO Roles. */
export function ssoRoutes(ctx: Context): FastifyPluginAsyncTypebox {
  return async (http) => {
    await http.register(collectionRoutes(ctx), { prefix: collection })
    await http.register(singleRoutes(ctx), { prefix: single })
    await http.register(adminRoutes(ctx), { prefix: single })
    await http.register(insightRoutes(ctx), { prefix: single })
    await http.register(ssoRoleRoutes(ctx))
  }
}

function collectionRoutes(ctx: Context): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.get(
      '',
      {
        schema: {
          operationId: 'listOrgSsos',
          tags,
          params: OrgParams,
          querystring: Type.Object(pageQuery),
          response: { 200: Type.Array(SsoReply) },
        },
      },
      async ({ caller, params, query }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read' })
        const page = parsePage(query)
        const found = await listSsos(ctx.db, scope, page)
        setPageHeaders(reply, page, found)
        return reply.send(found.rows.map(presentSso))
      },
    )

    http.post(
      '',
      {
        schema: {
          operationId: 'createOrgSso',
          tags,
          params: OrgParams,
          body: CreateSsoBody,
          response: { 200: SsoReply },
        },
      },
      async ({ caller, params, body }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'admin' })
        return reply.send(presentSso(await createSso(ctx, scope, { caller, body })))
      },
    )
  }
}

function singleRoutes(ctx: Context): FastifyPluginAsyncTypebox {
  const params = SsoParams
  return async (http) => {
    http.get(
      '',
      { schema: { operationId: 'getOrgSso', tags, params, response: { 200: SsoReply } } },
      async ({ caller, params }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read' })
        return reply.send(presentSso(await getSso(ctx.db, scope, params.sso_id)))
      },
    )

    http.put(
      '',
      { schema: { operationId: 'updateOrgSso', tags, params, body: UpdateSsoBody, response: { 200: SsoReply } } },
      async ({ caller, params, body }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'admin' })
        return reply.send(presentSso(await updateSso(ctx, scope, { id: params.sso_id, caller, body })))
      },
    )

    http.delete(
      '',
      { schema: { operationId: 'deleteOrgSso', tags, params, response: { 200: Empty } } },
      async ({ caller, params }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'admin' })
        await deleteSso(ctx, scope, params.sso_id)
        return reply.send({})
      },
    )
  }
}

function adminRoutes(ctx: Context): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.post(
      '/delete_admins',
      {
        schema: {
          operationId: 'deleteOrgSsoAdmins',
          tags,
          params: SsoParams,
          body: DeleteAdminsBody,
          response: { 200: DeleteAdminsReply },
        },
      },
      async ({ caller, params, body }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'admin' })
        const { deleted, unknown } = await deleteAdminsOfSso(ctx, scope, { ssoId: params.sso_id, emails: body.emails })
        return reply.send({ deleted, errors: unknown })
      },
    )
  }
}

/** What the identity provider's administrator needs, and what went wrong. */
function insightRoutes(ctx: Context): FastifyPluginAsyncTypebox {
  const params = SsoParams
  return async (http) => {
    http.get(
      '/metadata',
      { schema: { operationId: 'getOrgSamlMetadata', tags, params, response: { 200: MetadataReply } } },
      async ({ caller, params }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read' })
        const sso = await getSso(ctx.db, scope, params.sso_id)
        return reply.send(presentMetadata(samlUrls(ctx.baseUrl, sso.domain), await metadataOf(ctx, sso)))
      },
    )

    http.get(
      '/metadata.xml',
      {
        schema: {
          operationId: 'downloadOrgSamlMetadata',
          tags,
          params,
          produces: ['application/samlmetadata+xml'],
          response: { 200: Type.String() },
        },
      },
      async ({ caller, params }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read' })
        const sso = await getSso(ctx.db, scope, params.sso_id)
        void reply.header('content-type', 'application/samlmetadata+xml; charset=utf-8')
        return reply.send(await metadataOf(ctx, sso))
      },
    )

    http.get(
      '/failures',
      {
        schema: {
          operationId: 'listOrgSsoLatestFailures',
          tags,
          params,
          querystring: FailuresQuery,
          response: { 200: FailuresReply },
        },
      },
      async ({ caller, params, query }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read' })
        const { id: ssoId } = await getSso(ctx.db, scope, params.sso_id)
        const page = parsePage(query)
        const range = parseTimeRange(query, ctx.clock.now())
        const found = await listFailures(ctx.db, scope, { ssoId, ...range, page })
        setPageHeaders(reply, page, found)
        const withAssertion = may(caller, scope, 'admin')
        return reply.send({ results: found.rows.map((row) => presentFailure(row, withAssertion)) })
      },
    )
  }
}
