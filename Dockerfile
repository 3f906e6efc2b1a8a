FROM python:3.13-slim AS build
WORKDIR /src
COPY requirements.lock pyproject.toml README.md LICENSE ./
RUN python -m venv /opt/turnback \
    && /opt/turnback/bin/pip install --no-cache-dir --require-hashes -r requirements.lock
COPY src src
COPY bots bots
COPY cli cli
COPY config config
COPY core core
COPY web web
RUN /opt/turnback/bin/pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /dist . \
    && /opt/turnback/bin/pip install --no-cache-dir --no-deps /dist/*.whl

FROM python:3.13-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends bubblewrap \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --create-home turnback \
    && install -d -o turnback -g turnback -m 0700 /data
COPY --from=build /opt/turnback /opt/turnback
COPY config/turnback.toml /etc/turnback/turnback.toml
ENV PATH=/opt/turnback/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    TURNBACK_STORAGE__PATH=/data \
    TURNBACK_WEB__HOST=0.0.0.0 \
    TURNBACK_WEB__PORT=8765
USER turnback
WORKDIR /home/turnback
VOLUME /data
EXPOSE 8765
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
    CMD ["python", "-c", "import os, urllib.request as u; u.urlopen('http://127.0.0.1:' + os.environ['TURNBACK_WEB__PORT'] + '/healthz', timeout=4)"]
ENTRYPOINT ["turnback"]
CMD ["serve", "--config", "/etc/turnback/turnback.toml"]
