import type { SAML } from '@node-saml/node-saml'
import type { Context } from '../../../platform/context.ts'
import { SsoRefusal } from '../refusal.ts'
import { type Sso, identityProviderOf, loginFault, samlUrls } from '../sso.ts'

const nameIdFormats = {
  email: 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress',
  unspecified: 'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified',
} as const

/** Loads the library on first use: it takes memory and time, and most installations never need it. */
function loadSaml() {
  return import('@node-saml/node-saml')
}

/** Parses a message before its signature is verified. Loads the parser on first use. */
export async function parseXml(xml: string): Promise<unknown> {
  const { parseXml2JsFromString } = await import('@node-saml/node-saml/lib/xml.js')
  return parseXml2JsFromString(xml)
}

function identityOf(ctx: Context, { domain, doc }: Sso) {
  const { entityId, acsUrl, logoutUrl } = samlUrls(ctx.baseUrl, domain)
  return {
    issuer: entityId,
    callbackUrl: acsUrl,
    logoutCallbackUrl: logoutUrl,
    identifierFormat: nameIdFormats[doc.nameid_format ?? 'email'],
  }
}

/**
 * Creates the library's client for one SSO. It verifies signatures and returns only what was signed.
 * decide-assertion.ts decides about the times, the answered request and the audience, by our clock and our records.
 *
 * @param requestId The id for the request that it creates.
 * @throws SsoRefusal if the identity provider has not been set up.
 */
export async function createSamlClient(ctx: Context, sso: Sso, requestId?: string): Promise<SAML> {
  const provider = identityProviderOf(sso)
  if (provider === null)
    throw new SsoRefusal(loginFault(sso) ?? 'The issuer, idp_cert and idp_sso_url of the SSO have not been set')
  const identity = identityOf(ctx, sso)
  const { SAML, ValidateInResponseTo } = await loadSaml()
  return new SAML({
    ...identity,
    audience: identity.issuer,
    entryPoint: provider.ssoUrl,
    idpCert: [...provider.certs],
    idpIssuer: provider.issuer,
    // Either must be signed: unless the response is, the library requires a signed assertion.
    wantAuthnResponseSigned: false,
    wantAssertionsSigned: false,
    disableRequestedAuthnContext: true,
    validateInResponseTo: ValidateInResponseTo.never,
    acceptedClockSkewMs: -1,
    ...(requestId !== undefined && { generateUniqueId: () => requestId }),
  })
}

/** Generates the XML with our URLs that the administrator of the identity provider imports. */
export async function metadataOf(ctx: Context, sso: Sso): Promise<string> {
  const { generateServiceProviderMetadata } = await loadSaml()
  return generateServiceProviderMetadata({
    ...identityOf(ctx, sso),
    // Generate the same text each time, so that it can be compared.
    generateUniqueId: () => `_${sso.domain}`,
  })
}
