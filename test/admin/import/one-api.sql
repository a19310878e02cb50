-- one-api v0.6.10 as its program creates it in SQLite (model/user.go, model/token.go, model/channel.go and
-- model/option.go), without indexes and without columns that are not read.
CREATE TABLE users (id integer PRIMARY KEY AUTOINCREMENT, username text UNIQUE, password text NOT NULL,
  display_name text, role integer DEFAULT 1, status integer DEFAULT 1, email text, github_id text, wechat_id text,
  lark_id text, oidc_id text, access_token char(32), quota bigint DEFAULT 0, used_quota bigint DEFAULT 0,
  request_count integer DEFAULT 0, "group" varchar(32) DEFAULT 'default', aff_code varchar(32), inviter_id integer);
CREATE TABLE tokens (id integer PRIMARY KEY AUTOINCREMENT, user_id integer, key char(48) UNIQUE, status integer
    DEFAULT 1,
  name text, created_time bigint, accessed_time bigint, expired_time bigint DEFAULT -1, remain_quota bigint DEFAULT 0,
  unlimited_quota numeric DEFAULT false, used_quota bigint DEFAULT 0, models text DEFAULT '', subnet text DEFAULT '');
CREATE TABLE channels (id integer PRIMARY KEY AUTOINCREMENT, type integer DEFAULT 0, key text, status integer DEFAULT
    1,
  name text, weight integer DEFAULT 0, created_time bigint, test_time bigint, response_time integer, base_url text
  DEFAULT '', other text, balance real, balance_updated_time bigint, models text, "group" varchar(32) DEFAULT
    'default',
  used_quota bigint DEFAULT 0, model_mapping varchar(1024) DEFAULT '', priority bigint DEFAULT 0, config text,
  system_prompt text);
CREATE TABLE options (key text PRIMARY KEY, value text);
CREATE TABLE redemptions (id integer PRIMARY KEY AUTOINCREMENT, user_id integer, key char(32) UNIQUE, status integer
  DEFAULT 1, name text, quota bigint DEFAULT 100);

INSERT INTO users (id, username, password, display_name, role, status, email, quota, "group") VALUES
  (1, 'root', '$2a$10$7EqJtq98hPqEX7fNZaFWoOhi6EmsUsGrr3zUrBKOHkiNMhhAmmMx2', 'Root', 100, 1, NULL, 9007199254740993,
    'default'),
  (2, 'alice', '$2a$10$7EqJtq98hPqEX7fNZaFWoOhi6EmsUsGrr3zUrBKOHkiNMhhAmmMx2', 'Alice', 1, 1, ' alice@example.com ',
    1234567, 'vip'),
  (3, 'bob', '$2a$10$7EqJtq98hPqEX7fNZaFWoOhi6EmsUsGrr3zUrBKOHkiNMhhAmmMx2', '', 1, 2, 'bob@example.com', -5,
    'default'),
  (4, 'carol', 'secret-in-plain-text', 'Carol', 1, 1, '', 499999, 'default'),
  (5, 'dave_deleted', '$2a$10$7EqJtq98hPqEX7fNZaFWoOhi6EmsUsGrr3zUrBKOHkiNMhhAmmMx2', 'Dave', 1, 3,
    'dave@example.com', 500000, 'default'),
  (6, 'eve', '$2a$10$7EqJtq98hPqEX7fNZaFWoOhi6EmsUsGrr3zUrBKOHkiNMhhAmmMx2', 'Eve', 1, 1, 'eve@example.com',
    'plenty', 'default');
INSERT INTO tokens (id, user_id, key, status, name, expired_time, remain_quota, unlimited_quota, models, subnet)
    VALUES
  (1, 2, 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAaaa1', 1, 'laptop', -1, 0, 1, '', ''),
  (2, 2, 'BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBbbb2', 1, '', 1900000000, 750001, 0, 'gpt-4o, o3',
    '203.0.113.0/24,10.0.0.7'),
  (3, 2, 'CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCccc3', 2, 'off', -1, -3, 0, NULL, NULL),
  (4, 2, 'too-short', 1, 'short', -1, 0, 1, '', ''),
  (5, 3, 'EEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEeee5', 1, 'nowhere', -1, 0, 1, '', 'everywhere'),
  (6, 5, 'FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFfff6', 1, 'of a deleted user', -1, 0, 1, '', '');
INSERT INTO channels (id, type, key, status, name, weight, base_url, models, "group", model_mapping, priority) VALUES
  (1, 1, 'sk-upstream-one', 1, 'OpenAI', 0, '', 'gpt-4o,gpt-4o-mini,text-embedding-3-small,tts-1', 'default,vip', '',
    10),
  (2, 50, 'sk-upstream-two', 1, 'My relay', 0, 'https://relay.example.com/', 'gpt-4o', 'default',
    '{"gpt-4o":"gpt-4o-2024"}', 0),
  (3, 3, 'sk-upstream-azure', 1, 'Azure', 0, 'https://x.openai.azure.com', 'gpt-4o', 'default', '', 0),
  (4, 14, 'sk-upstream-claude', 1, 'Claude', 0, '', 'claude-sonnet-4-5,claude-opus-4-1', 'vip', 'no json', 0),
  (5, 1, 'sk-upstream-off', 2, 'Off', 0, '', 'gpt-4o', 'default', '', 0);
INSERT INTO options VALUES ('SMTPToken', 'secret-of-the-mail-server'),
  ('ModelRatio', '{"gpt-4o":1.25,"gpt-4o-mini":0.075,"text-embedding-3-small":0.01,"claude-sonnet-4-5":1.5}'),
  ('CompletionRatio', '{"gpt-4o":4,"gpt-4o-mini":4}'), ('GroupRatio', '{"default":1,"vip":0.8}');
INSERT INTO redemptions (id, key, quota) VALUES (1, 'secret-code', 500000);
