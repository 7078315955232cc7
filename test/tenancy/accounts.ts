import type { TestServer } from '../support/servers/server.ts'
import { type Area, type Ids, create } from './area.ts'
import { addPrivilege } from '../support/people.ts'

const orgToken = { name: 'script', privileges: [{ scope: 'org', role: 'read' }] }
const invitation = { email: 'invited@example.test', privileges: [{ scope: 'org', role: 'read' }] }

export async function makeAccounts(server: TestServer, { org_id: orgId }: Ids): Promise<Area> {
  const ids = {
    apitoken_id: await create(server, `/orgs/${orgId}/apitokens`, orgToken),
    invite_id: await create(server, `/orgs/${orgId}/invites`, invitation),
    admin_id: await addColleague(server),
    sso_id: await create(server, `/orgs/${orgId}/ssos`, { name: 'Company' }),
    ssorole_id: await create(server, `/orgs/${orgId}/ssoroles`, { ...orgToken, name: 'role' }),
  }
  return {
    ids,
    samples: {
      listOrgAdmins: {},
      updateOrgAdmin: { body: { privileges: [{ scope: 'org', role: 'read' }] } },
      listOrgAdminInvites: {},
      inviteOrgAdmin: { body: invitation },
      updateOrgAdminInvite: { body: { hours: 48 } },
      listOrgApiTokens: {},
      createOrgApiToken: { body: orgToken },
      getOrgApiToken: {},
      updateOrgApiToken: { body: { name: 'changed' } },
      listOrgSsos: {},
      createOrgSso: { body: { name: 'Another company' } },
      getOrgSso: {},
      updateOrgSso: { body: { name: 'changed' } },
      getOrgSamlMetadata: {},
      downloadOrgSamlMetadata: {},
      listOrgSsoLatestFailures: {},
      deleteOrgSsoAdmins: { body: { emails: [] } },
      listOrgSsoRoles: {},
      createOrgSsoRole: { body: { ...orgToken, name: 'another role' } },
      getOrgSsoRole: {},
      updateOrgSsoRole: { body: { name: 'changed' } },
    },
    removals: {
      deleteOrgApiToken: {},
      deleteOrgSso: {},
      deleteOrgSsoRole: {},
      uninviteOrgAdmin: {},
      revokeOrgAdmin: {},
    },
  }
}

/** Adds another admin to the first organization. */
async function addColleague(server: TestServer): Promise<string> {
  const { adminId } = await server.addOrg('Of a colleague')
  await addPrivilege(server, { orgId: server.org.orgId, adminId }, { scope: 'org', role: 'write' })
  return adminId
}
