-- litellm 1.80 (schema.prisma), without indexes and without columns and tables that are not read.
CREATE TABLE "LiteLLM_BudgetTable" (budget_id text PRIMARY KEY, max_budget double precision, soft_budget double
    precision,
  max_parallel_requests integer, tpm_limit bigint, rpm_limit bigint, model_max_budget jsonb, budget_duration text,
  budget_reset_at timestamp(3), created_at timestamp(3) NOT NULL DEFAULT now(), created_by text NOT NULL DEFAULT '');
CREATE TABLE "LiteLLM_OrganizationTable" (organization_id text PRIMARY KEY, organization_alias text NOT NULL,
  budget_id text NOT NULL, metadata jsonb NOT NULL DEFAULT '{}', models text[], spend double precision NOT NULL
    DEFAULT 0);
CREATE TABLE "LiteLLM_OrganizationMembership" (user_id text, organization_id text, user_role text, spend double
    precision
  DEFAULT 0, budget_id text, PRIMARY KEY (user_id, organization_id));
CREATE TABLE "LiteLLM_TeamTable" (team_id text PRIMARY KEY, team_alias text, organization_id text, admins text[],
    members
  text[], members_with_roles jsonb NOT NULL DEFAULT '{}', metadata jsonb NOT NULL DEFAULT '{}', max_budget double
  precision, spend double precision NOT NULL DEFAULT 0, models text[], max_parallel_requests integer, tpm_limit
    bigint,
  rpm_limit bigint, budget_duration text, budget_reset_at timestamp(3), blocked boolean NOT NULL DEFAULT false);
CREATE TABLE "LiteLLM_TeamMembership" (user_id text, team_id text, spend double precision NOT NULL DEFAULT 0,
    budget_id
  text, PRIMARY KEY (user_id, team_id));
CREATE TABLE "LiteLLM_UserTable" (user_id text PRIMARY KEY, user_alias text, team_id text, sso_user_id text UNIQUE,
  organization_id text, password text, teams text[] DEFAULT '{}', user_role text, max_budget double precision, spend
    double
  precision NOT NULL DEFAULT 0, user_email text, models text[], metadata jsonb NOT NULL DEFAULT '{}',
  max_parallel_requests integer, tpm_limit bigint, rpm_limit bigint, budget_duration text, budget_reset_at
    timestamp(3));
CREATE TABLE "LiteLLM_VerificationToken" (token text PRIMARY KEY, key_name text, key_alias text, soft_budget_cooldown
  boolean NOT NULL DEFAULT false, spend double precision NOT NULL DEFAULT 0, expires timestamp(3), models text[],
    aliases
  jsonb NOT NULL DEFAULT '{}', config jsonb NOT NULL DEFAULT '{}', user_id text, team_id text, permissions jsonb NOT
    NULL
  DEFAULT '{}', max_parallel_requests integer, metadata jsonb NOT NULL DEFAULT '{}', blocked boolean, tpm_limit
    bigint,
  rpm_limit bigint, max_budget double precision, budget_duration text, budget_reset_at timestamp(3), allowed_routes
    text[]
  DEFAULT '{}', model_max_budget jsonb NOT NULL DEFAULT '{}', budget_id text, organization_id text,
    object_permission_id
  text);
CREATE TABLE "LiteLLM_DeletedVerificationToken" (LIKE "LiteLLM_VerificationToken" INCLUDING DEFAULTS, id text PRIMARY
    KEY);
CREATE TABLE "LiteLLM_EndUserTable" (user_id text PRIMARY KEY);
CREATE TABLE "LiteLLM_ProxyModelTable" (model_id text PRIMARY KEY, model_name text NOT NULL, litellm_params jsonb NOT
    NULL,
  model_info jsonb, blocked boolean NOT NULL DEFAULT false);

INSERT INTO "LiteLLM_BudgetTable" (budget_id, max_budget, budget_duration, rpm_limit) VALUES
  ('b-member', 5, '7d', NULL), ('b-key', 0.1, '1h', 60), ('b-org', 100, NULL, NULL);
INSERT INTO "LiteLLM_UserTable" (user_id, user_alias, user_email, user_role, password, max_budget, spend, models,
    budget_duration, rpm_limit, metadata) VALUES
  ('default_user_id', NULL, NULL, 'proxy_admin', NULL, NULL, 12.5, NULL, NULL, NULL, '{}'),
  ('u-ann', 'Ann', 'ann@example.com', 'internal_user',
    '$2a$10$7EqJtq98hPqEX7fNZaFWoOhi6EmsUsGrr3zUrBKOHkiNMhhAmmMx2', 10, 0.30000000000000004, NULL, '30d', 120, '{}'),
  ('u-ben', NULL, 'ben@example.com', 'internal_user', 'scrypt:abcdef', 1, 3.5, '{gpt-4o,o3}', NULL, NULL, '{}'),
  ('u-cut', NULL, 'cut@example.com', 'internal_user', NULL, NULL, 0, NULL, NULL, NULL, '{"scim_active": false}');
INSERT INTO "LiteLLM_TeamTable" (team_id, team_alias, members_with_roles, models, max_budget, tpm_limit, blocked)
    VALUES
  ('t-lab', 'Lab', '[{"role":"user","user_id":"u-ben","user_email":null},{"role":"admin","user_id":"u-ann"}]',
    '{gpt-4o,o3}', 50, 100000, false),
  ('t-lost', 'Lost', '[{"role":"user","user_id":"u-ben"}]', NULL, NULL, NULL, false),
  ('t-off', NULL, '[{"role":"admin","user_id":null,"user_email":"ben@example.com"}]', NULL, NULL, NULL, true);
INSERT INTO "LiteLLM_TeamMembership" VALUES ('u-ben', 't-lab', 1.25, 'b-member');
INSERT INTO "LiteLLM_OrganizationTable" (organization_id, organization_alias, budget_id) VALUES ('o-1', 'Org',
    'b-org');
INSERT INTO "LiteLLM_OrganizationMembership" (user_id, organization_id, user_role) VALUES ('u-ann', 'o-1',
    'org_admin');
INSERT INTO "LiteLLM_VerificationToken" (token, key_name, key_alias, spend, expires, models, user_id, team_id,
    blocked,
    rpm_limit, tpm_limit, max_parallel_requests, max_budget, budget_duration, budget_reset_at, budget_id,
    allowed_routes,
    organization_id, aliases) VALUES
  ('bb6649ef03c098b5d784f1d8eca2a8d0b1fbf9e7969299b4d73c639643e77c64', 'sk-...0001', 'alpha', 2.5,
    '2030-01-02 03:04:05.678', NULL, 'u-ann', NULL, NULL, 30, 9000, 4, 20.5, '30d',
    now() + interval '1 day', NULL, '{}', NULL, '{"fast": "gpt-4o"}'),
  ('248375f879309e41267538753572659aca835193fbfacad65362f83a36b123a9', 'sk-...0002', NULL, 0.75, NULL,
    '{all-team-models}', 'u-ben', 't-lab', NULL, NULL, NULL, NULL, 3, '1d',
    now() - interval '1 hour', NULL, '{llm_api_routes}', NULL, '{}'),
  (repeat('c', 64), 'sk-...cccc', 'beta only', 0, NULL, '{beta,o3}', 'u-ann', 't-lab', true, NULL, NULL, NULL, NULL,
    NULL,
    NULL, 'b-key', '{}', NULL, '{}'),
  (repeat('d', 64), 'sk-1234', 'short', 0, NULL, NULL, 'u-ann', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    '{}',
    NULL, '{}'),
  ('sk-plain-text-key-0000000003', 'sk-...0003', 'plain', 0, NULL, '{gpt-5}', 'u-ben', NULL, false, NULL, NULL, NULL,
    NULL,
    NULL, NULL, NULL, '{}', NULL, '{}'),
  (repeat('e', 64), 'sk-...eeee', 'nobody', 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL, '{}',
    NULL, '{}'),
  (repeat('f', 64), 'sk-...ffff', 'org', 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    '{management_routes}', 'o-1', '{}'),
  (repeat('0', 64), 'sk-...0000', NULL, 0, NULL, NULL, 'u-ann', 'litellm-dashboard', NULL, NULL, NULL, NULL, NULL,
    NULL,
    NULL, NULL, '{}', NULL, '{}');
INSERT INTO "LiteLLM_DeletedVerificationToken" (id, token, key_name, user_id) VALUES
  ('x', repeat('9', 64), 'sk-...9999', 'u-ann'), ('y', repeat('8', 64), 'sk-...8888', 'u-unknown');
INSERT INTO "LiteLLM_EndUserTable" VALUES ('customer');
INSERT INTO "LiteLLM_ProxyModelTable" (model_id, model_name, litellm_params, model_info) VALUES
  ('m1', 'gpt-4o', '{"model":"openai/gpt-4o","api_key":"os.environ/OPENAI_API_KEY","weight":3}',
    '{"mode":"chat","input_cost_per_token":0.0000025,"output_cost_per_token":0.00001,
    "cache_read_input_token_cost":1.25e-06,
      "access_groups":["beta"]}'),
  ('m2', 'gpt-4o',
    '{"model":"openai/gpt-4o-eu","api_key":"sk-secret-upstream","api_base":"https://eu.example.com/v1/",
    "weight":1,"input_cost_per_token":0.000003,"output_cost_per_token":0.000012}', '{}'),
  ('m3', 'claude', '{"model":"anthropic/claude-sonnet-4-5","api_key":"os.environ/ANTHROPIC_API_KEY",
    "input_cost_per_token":0.000003}', '{"mode":"chat"}'),
  ('m4', 'bedrock', '{"model":"bedrock/x","input_cost_per_token":1e-6}', '{}'),
  ('m5', 'locked', '{"model":"QWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXoxMjM0NTY3ODkwQWJjZGVmZ2hpamtsbW5v","api_key":"x"}',
    '{}'),
  ('m6', 'voice', '{"model":"openai/tts-1"}', '{"mode":"audio_speech"}');
