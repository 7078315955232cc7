import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { listCountries, listLanguages, listStates } from './places-of-world.ts'

const tags = ['Constants Definitions']

/** Places and languages that addresses and settings may name. Source: contract, Constants Definitions. */
export const worldConstRoutes: FastifyPluginAsyncTypebox = async (http) => {
  http.get(
    '/const/countries',
    {
      schema: {
        operationId: 'listCountryCodes',
        tags,
        querystring: Type.Object({
          extend: Type.Optional(Type.Boolean({ default: false, description: 'all countries are always there' })),
        }),
        response: {
          200: Type.Array(
            Type.Object({
              alpha2: Type.String(),
              certified: Type.Boolean({ description: 'always false: nobody has certified radios for Signalbox' }),
              name: Type.String(),
              numeric: Type.Integer(),
            }),
          ),
        },
      },
    },
    async () => listCountries().map(({ alpha2, name, numeric }) => ({ alpha2, name, numeric, certified: false })),
  )

  http.get(
    '/const/states',
    {
      schema: {
        operationId: 'listStates',
        tags,
        querystring: Type.Object({ country_code: Type.String({ description: 'two letters, in any case' }) }),
        response: { 200: Type.Array(Type.Object({ iso_code: Type.String(), name: Type.String() })) },
      },
    },
    async ({ query }) => listStates(query.country_code).map(({ code, name }) => ({ iso_code: code, name })),
  )

  http.get(
    '/const/languages',
    {
      schema: {
        operationId: 'listSiteLanguages',
        tags,
        response: {
          200: Type.Array(Type.Object({ key: Type.String(), display: Type.String(), display_native: Type.String() })),
        },
      },
    },
    async () => listLanguages().map(({ tag, name, ownName }) => ({ key: tag, display: name, display_native: ownName })),
  )
}
